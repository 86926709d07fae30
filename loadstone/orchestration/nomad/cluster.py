"""Queries of Nomad, Consul and engines about one deployment, in the terms of their APIs."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from typing import Any, NamedTuple

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.docker_api import Engine, docker_errors
from loadstone.infrastructure.software.nomad import api
from loadstone.model.errors import DeploymentError
from loadstone.orchestration.containers import LABEL
from loadstone.orchestration.nomad.templates import job_prefix, tag

Json = dict[str, Any]

_ALLOCATION = re.compile(r"_nomad-task-([0-9a-f-]{36})-")
"""In the ids that Nomad gives to services in Consul."""
_OF_ALLOCATION = "com.hashicorp.nomad.alloc_id"
_BYTES_A_LINE = 400


class Container(NamedTuple):
    """A container as its engine tells of it."""

    id: str
    image: str


class ConsulCheck(NamedTuple):
    """What Consul thinks of a replica."""

    passing: bool
    output: str


class NomadCluster:
    """A Nomad cluster with Consul."""

    def __init__(self, access: Access, deployment: str) -> None:
        self._nomad = api.nomad_of(access)
        self._hasty = api.nomad_of(access, retry_s=0)
        self._consul = api.consul_of(access)
        self._namespace = access.extra["namespace"] or "default"
        self._engines = {node: Engine(url) for node, url in access.engines.items()}
        self._deployment = deployment

    def register(self, hcl: str) -> str:
        """Register a job as it is written; returns the id of the evaluation that will place it."""
        job = self._nomad.post("/v1/jobs/parse", {"JobHCL": hcl, "Canonicalize": True})
        job["Namespace"] = self._namespace
        return str(self._nomad.post("/v1/jobs", {"Job": job}, namespace=self._namespace)["EvalID"])

    def evaluation(self, identity: str) -> Json:
        """How far the scheduler is with a job, and what it could not place."""
        return dict(self._nomad.get(f"/v1/evaluation/{identity}", namespace=self._namespace))

    def scale(self, job: str, group: str, count: int) -> None:
        """Run so many of a group from now on."""
        self._nomad.post(
            f"/v1/job/{job}/scale", {"Count": count, "Target": {"Group": group}}, namespace=self._namespace
        )

    def purge(self) -> None:
        """Stop all jobs of the deployment and forget them."""
        jobs = self._nomad.get("/v1/jobs", prefix=job_prefix(self._deployment), meta="true", namespace=self._namespace)
        for job in jobs:
            if (job["Meta"] or {}).get(LABEL) == self._deployment:
                self._nomad.delete(f"/v1/job/{job['ID']}", purge="true", namespace=self._namespace)

    def allocations(self) -> list[Json]:
        """All of the deployment's jobs that Nomad remembers, the oldest first."""
        prefix = job_prefix(self._deployment)
        found = self._nomad.get(
            "/v1/allocations", resources="true", filter=f'JobID matches "^{prefix}"', namespace=self._namespace
        )
        mine = [allocation for allocation in found if allocation["JobID"] == prefix + allocation["TaskGroup"]]
        return sorted(mine, key=lambda allocation: int(allocation["CreateIndex"]))

    def checks(self) -> dict[str, list[ConsulCheck]]:
        """What Consul says of the deployment's replicas, by allocation."""
        found: dict[str, list[ConsulCheck]] = defaultdict(list)
        for check in self._consul.get("/v1/health/state/any", filter=f'"{tag(self._deployment)}" in ServiceTags'):
            if match := _ALLOCATION.match(check["ServiceID"]):
                output = check["Output"].strip() or f"its check is {check['Status']}"
                found[match[1]].append(ConsulCheck(check["Status"] == "passing", output))
        return found

    def containers(self) -> tuple[dict[str, Container], set[str]]:
        """The deployment's containers that run, by allocation, and the nodes whose engines do not answer."""
        found: dict[str, Container] = {}
        silent = set()
        for node, engine in self._engines.items():
            try:
                with docker_errors(engine.url):
                    listed = engine.api.containers(filters={"label": f"{LABEL}={self._deployment}"})
            except DeploymentError:
                silent.add(node)
                continue
            found |= {
                container["Labels"][_OF_ALLOCATION]: Container(container["Id"], container["ImageID"])
                for container in listed
            }
        return found, silent

    def reaches(self, node: str) -> bool:
        """Whether the engine of a node can be reached from here."""
        return node in self._engines

    def log(self, allocation: str, task: str, stream: str, lines: int) -> str | None:
        """The end of a task's output; None if its node cannot be reached. A node that is down is not tried again."""
        with contextlib.suppress(DeploymentError):
            return self._hasty.text(
                f"/v1/client/fs/logs/{allocation}",
                task=task, type=stream, plain="true", origin="end", offset=str(lines * _BYTES_A_LINE),
                namespace=self._namespace,
            )  # fmt: skip
        return None

    def nodes(self) -> list[Json]:
        """All nodes that Nomad knows."""
        return list(self._nomad.get("/v1/nodes"))

    def attributes(self) -> Json:
        """What one of the nodes has."""
        return dict(self._nomad.get(f"/v1/node/{self.nodes()[0]['ID']}")["Attributes"])
