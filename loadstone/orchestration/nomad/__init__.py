"""Nomad: each service a job of Docker tasks, found by others through Consul's catalogue."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from loadstone.infrastructure.base import Access, Finding
from loadstone.model.deployment import Deployment, FoundReplica, Replica
from loadstone.model.errors import DeploymentError
from loadstone.model.software import STORE_PASSWORD
from loadstone.orchestration import agent
from loadstone.orchestration.containers import Containers
from loadstone.orchestration.nomad import capacity, fixed_ports, jobs
from loadstone.orchestration.nomad.cluster import Container, NomadCluster
from loadstone.orchestration.nomad.templates import job_name
from loadstone.orchestration.start_order import moved_up

_SKETCHED_MHZ = 1000
_PLACED_WITHIN_S = 60.0
_GONE_WITHIN_S = 120.0
_LOOK_EVERY_S = 0.1
_VERSIONS = {"nomad": "nomad.version", "consul": "consul.version", "docker": "driver.docker.version"}
_BAD = ("Driver Failure", "Setup Failure", "Template", "Terminated")
_HOPELESS = "Failed to pull"


class Nomad(Containers):
    """Jobs that are registered through Nomad's HTTP API with whichever server answers."""

    name = "nomad"
    files = "layer"
    software = "nomad"
    managed = True

    def __init__(self, deployment: Deployment, folder: Path, access: Access | None = None) -> None:
        super().__init__(deployment, folder, access)
        self._allocated: dict[str, str] = {}
        self._containers: dict[str, Container] = {}

    @cached_property
    def _cluster(self) -> NomadCluster:
        return NomadCluster(self.cluster, self.deployment.name)

    @property
    def _mhz(self) -> int:
        """What the cluster counts a core as."""
        return int(self.access.extra["mhz"]) if self.access is not None else _SKETCHED_MHZ

    def preflight(self) -> list[Finding]:
        limits, ports = capacity.findings(self.deployment, self._mhz), fixed_ports.findings(self.deployment)
        return [*super().preflight(), *limits, *ports]

    def render(self) -> dict[str, str]:
        return jobs.render(self.deployment, self._mhz)

    def versions(self) -> dict[str, str]:
        known = self._cluster.attributes() if self.access is not None else {}
        return {name: known[attribute] for name, attribute in _VERSIONS.items() if attribute in known}

    @classmethod
    def _entrance(cls, deployment: Deployment) -> dict[str, str]:
        return {"job": job_name(deployment.name, agent.NAME)}

    # Making

    def _groups(self, replicas: list[Replica]) -> list[list[str]]:
        # An image starts when Consul knows all that it may call: also those that wait for it, which Consul knows as
        # soon as they have a node.
        waits_for = {replica.service: replica.needs for replica in replicas if replica.image is not None}
        return moved_up(super()._groups(replicas), waits_for)

    def _create(self, services: list[str]) -> None:
        agents = [agent.NAME] if agent.nodes(self.deployment) else []
        files = self.render()
        texts = {name: files[f"{name}.nomad.hcl"].replace(STORE_PASSWORD, self.password) for name in services + agents}
        evaluations = {name: self._cluster.register(text) for name, text in texts.items()}
        for name, evaluation in evaluations.items():
            self._await_placing(name, evaluation)

    def _await_placing(self, name: str, evaluation: str) -> None:
        """Until the scheduler has thought about a job; raises DeploymentError if it found no node for all of it."""
        deadline = time.monotonic() + _PLACED_WITHIN_S
        while (answer := self._cluster.evaluation(evaluation))["Status"] == "pending":
            if time.monotonic() > deadline:
                raise DeploymentError(f"{name}: Nomad has not placed it within {_PLACED_WITHIN_S:g} s")
            time.sleep(_LOOK_EVERY_S)
        for metrics in (answer.get("FailedTGAllocs") or {}).values():
            raise DeploymentError(*capacity.unplaced(self.deployment, name, metrics))

    def scale(self, service: str, replicas: int) -> None:
        self._cluster.scale(job_name(self.deployment.name, service), service, replicas)

    # Looking

    def _find(self) -> list[FoundReplica]:
        allocations = {
            _replica(allocation): allocation  # the newest is the last
            for allocation in self._cluster.allocations()
            if allocation["DesiredStatus"] == "run" and allocation["TaskGroup"] != agent.NAME
        }
        self._allocated |= {name: allocation["ID"] for name, allocation in allocations.items()}
        (containers, silent), checks = self._cluster.containers(), self._cluster.checks()
        self._containers |= containers
        found = []
        for name, allocation in sorted(allocations.items()):
            complaints = [check.output for check in checks.get(allocation["ID"], []) if not check.passing]
            if _ports(allocation) and allocation["ID"] not in checks:
                complaints.append("Consul does not know it yet")
            if gone := self._gone(allocation, containers, silent):
                complaints.append(gone)
            found.append(self._found(name, allocation, complaints if allocation["ClientStatus"] == "running" else []))
        return found

    def _gone(self, allocation: dict[str, Any], containers: dict[str, Container], silent: set[str]) -> str:
        """Why a replica that Nomad lists as running has no container; empty if it has, or its engine is unreachable."""
        node = allocation["NodeName"]
        if node in silent:
            return f"the engine of {node} does not answer"  # its container keeps the name that it had
        if allocation["ID"] in containers or not self._cluster.reaches(node):
            return ""
        self._containers.pop(allocation["ID"], None)
        return "its container has ended"

    def _found(self, name: str, allocation: dict[str, Any], complaints: list[str]) -> FoundReplica:
        container = self._containers.get(allocation["ID"], Container("", ""))
        service, state = allocation["TaskGroup"], allocation["ClientStatus"]
        names = {jobs.label(port): port for port in self.deployment.of(service)[0].ports}
        troubles = _troubles(allocation)
        return FoundReplica(
            name=name,
            service=service,
            node=allocation["NodeName"],
            state=state,
            healthy=state == "running" and not complaints,
            why="; ".join(troubles + complaints),
            hopeless=any(_HOPELESS in trouble for trouble in troubles),
            # An unreachable engine reports no ids; a machine finds a container by its allocation, too.
            container=container.id if self._cluster.reaches(allocation["NodeName"]) else allocation["ID"],
            image=container.image,
            addresses={names[label]: address for label, address in _ports(allocation) if label in names},
        )

    def _log(self, found: FoundReplica, lines: int) -> str | None:
        allocation = self._allocated[found.name]
        out, err = (self._cluster.log(allocation, found.service, stream, lines) for stream in ("stdout", "stderr"))
        return None if out is None or err is None else "\n".join((out + err).splitlines()[-lines:])

    def _lost(self) -> list[str]:
        mine = {node.name for node in self.deployment.nodes}
        return [
            f"{listed['Name']} {trouble}"
            for listed in self._cluster.nodes()
            if listed["Name"] in mine and (trouble := _down(listed))
        ]

    def _why_no_agent(self) -> list[str]:
        agents = [allocation for allocation in self._cluster.allocations() if allocation["TaskGroup"] == agent.NAME]
        return [f"{allocation['NodeName']}: {trouble}" for allocation in agents for trouble in _troubles(allocation)]

    # Removing

    @classmethod
    def _delete(cls, access: Access, name: str) -> None:
        cluster = NomadCluster(access, name)
        cluster.purge()
        deadline = time.monotonic() + _GONE_WITHIN_S
        while left := list(_left(cluster)):
            if time.monotonic() > deadline:
                raise DeploymentError(f"{name} is not gone after {_GONE_WITHIN_S:g} s: {', '.join(left[:5])}")
            time.sleep(_LOOK_EVERY_S)


def _replica(allocation: dict[str, Any]) -> str:
    """``geo-1`` of the allocation ``<job>.geo[0]``."""
    index = int(allocation["Name"].rpartition("[")[2].rstrip("]"))
    return f"{allocation['TaskGroup']}-{index + 1}"


def _troubles(allocation: dict[str, Any]) -> list[str]:
    """What went wrong with an allocation's task in Nomad's words, the newest first; it repeats itself."""
    task = (allocation["TaskStates"] or {}).get(allocation["TaskGroup"]) or {}
    events = reversed(task.get("Events") or [])
    bad = [event["DisplayMessage"] for event in events if event["FailsTask"] or event["Type"] in _BAD]
    return list(dict.fromkeys(bad))[:2]


def _ports(allocation: dict[str, Any]) -> list[tuple[str, str]]:
    """The label of each port with its ``host:port``, once the allocation has a node."""
    shared = (allocation.get("AllocatedResources") or {}).get("Shared") or {}
    return [(port["Label"], f"{port['HostIP']}:{port['Value']}") for port in shared.get("Ports") or []]


def _down(node: dict[str, Any]) -> str:
    """Why a node runs no replicas; empty if it does."""
    if node["Status"] != "ready":
        return f"is {node['Status']}"
    driver = (node["Drivers"] or {}).get("docker") or {}
    return "" if driver.get("Healthy") else f"runs no containers: {driver.get('HealthDescription', 'no docker driver')}"


def _left(cluster: NomadCluster) -> Iterator[str]:
    """What still runs, or is still known, of a deployment that was deleted."""
    for allocation in cluster.allocations():
        if allocation["ClientStatus"] not in ("complete", "failed", "lost"):
            yield f"{allocation['Name']} is {allocation['ClientStatus']}"
    yield from (f"container {container.id[:12]}" for container in cluster.containers()[0].values())
    yield from (f"allocation {allocation[:8]} in Consul" for allocation in cluster.checks())
