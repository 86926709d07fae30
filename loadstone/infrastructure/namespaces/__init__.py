"""Emulated hosts on this machine: several nodes with real cluster software, sharing its cores."""

from __future__ import annotations

import importlib
from dataclasses import replace
from types import ModuleType

from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding, Infrastructure, Provision, Say
from loadstone.infrastructure.cgroup import CgroupError
from loadstone.infrastructure.images.registry import Registry
from loadstone.infrastructure.local import Local
from loadstone.infrastructure.namespaces import checks
from loadstone.infrastructure.namespaces.emulated import Emulated
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.namespaces.network import Network, one_at_a_time, subnet_for
from loadstone.infrastructure.places import data_root
from loadstone.model.cluster import Cluster, Link, Node
from loadstone.model.errors import DeploymentError


class Namespaces(Infrastructure):
    """The client is this machine, on the client's cores of ``local``; all hosts share those of its worker."""

    name = "namespaces"
    software = frozenset({"process", "docker", "swarm", "nomad", "kubernetes"})
    follows = frozenset({"link"})
    self_contained = True

    def __init__(self, cluster: Cluster, entry_name: str) -> None:
        super().__init__(cluster, entry_name)
        self._emulated: Emulated | None = None
        self._begun = False

    def preflight(self, software: str, managers: int) -> list[Finding]:
        findings = [*Local(Cluster()).preflight("process", 0), *checks.machine(self.cluster.link)]
        if not any(finding.level == "error" for finding in findings):  # else what it tries fails for that reason
            findings += _module(software).preflight()
        if managers == 0 and checks.is_managed(software):
            findings.append(
                Finding("cluster", "error", f"{software} needs a manager, 0 were asked for", "set cluster.managers: 1")
            )
        return [*findings, checks.memory(software, managers, self.cluster.workers)]

    def sketch(self, software: str, managers: int) -> list[Node]:
        names = self._names(managers)
        return self._nodes(names, Network("", "", subnet_for(len(names), [])))

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        if (left := journal.load(self.entry_name)) is not None:
            say("removing the hosts of an earlier run")
            self.undo(left)
        names = self._names(managers)
        say(f"making {len(names)} emulated hosts")
        try:
            emulated = self._claim(names)
            nodes = self._nodes(names, emulated.network)
            link = self.cluster.link or Link()
            emulated.make(nodes[-1].cpus, link.rate, link.delay)
            hosts = emulated.hosts
            reached = {host.name: host.reach for host in hosts}
            nodes = [node.model_copy(update={"reach": reached.get(node.name, node.reach)}) for node in nodes]
            access = _module(software).start(hosts, hosts[:managers], hosts[managers:], say, **self._options())
        except BaseException:
            self.release()
            raise
        return Provision(tuple(nodes), replace(access, cluster=self.entry_name, switch=emulated.switch.daemons))

    def release(self) -> None:
        if self._begun and (entry := journal.load(self.entry_name)) is not None:
            self.undo(entry)
        self._begun, self._emulated = False, None

    def problems(self) -> list[str]:
        if self._emulated is None:
            return []
        found = {host.name: why for host in self._emulated.hosts if (why := _trouble(host))}
        return [f"{name}: {why}" for name, why in found.items() if not _can_spare(name, list(found), self._emulated)]

    @classmethod
    def undo(cls, entry: journal.Entry) -> list[str]:
        emulated = Emulated.of(entry.facts)
        try:
            emulated.remove()
        except (CgroupError, OSError) as error:
            raise DeploymentError(
                f"{entry.name}: an emulated host cannot be removed: {error}", "`loadstone down` tries again"
            ) from None
        journal.forget(entry.name)
        return [f"{entry.name} ({len(emulated.names)} emulated hosts)"]

    def _names(self, managers: int) -> list[str]:
        workers = self.cluster.workers
        return [f"manager-{n + 1}" for n in range(managers)] + [f"worker-{n + 1}" for n in range(workers)]

    def _nodes(self, names: list[str], network: Network) -> list[Node]:
        """The client first, then all hosts in the order of their addresses."""
        client, worker = Local(Cluster()).sketch("process", 0)
        hosts = [
            worker.model_copy(
                update={
                    "name": name,
                    "role": name.partition("-")[0],
                    "address": str(network.address(number)),
                    "emulated": True,
                }
            )
            for number, name in enumerate(names)
        ]
        return [client.model_copy(update={"address": network.client}), *hosts]

    def _claim(self, names: list[str]) -> Emulated:
        with one_at_a_time():
            emulated = Emulated.planned(names, data_root() / "clusters")
            self._begun = True
            journal.save(
                journal.Entry(
                    name=self.entry_name,
                    layer="infrastructure",
                    implementation=self.name,
                    folder=emulated.hosts_folder,
                    facts=emulated.as_data(),
                )
            )
            emulated.claim()
        self._emulated = emulated
        return emulated

    def _options(self) -> dict[str, str]:
        """What a study may say about an engine: the registry that it trusts although it has no TLS."""
        registry = Registry(self.cluster.registry) if self.cluster.registry else None
        return {"registry": registry.host} if registry is not None and registry.plain else {}


def _module(software: str) -> ModuleType:
    """The file that starts this software on hosts; loaded when wanted, for each brings a client library along."""
    return importlib.import_module(f"{__name__}.{software}")


def _can_spare(name: str, lost: list[str], emulated: Emulated) -> bool:
    """Whether a host is one of several managers, most of which still work: those are there to be spared."""
    managers = [one for one in emulated.names if one.startswith("manager-")]
    return name in managers and 2 * len(set(managers) & set(lost)) < len(managers)


def _trouble(host: Host) -> str:
    """What no longer works on a host; empty if all does."""
    if not host.up():
        return "it is down"
    if ended := [daemon for daemon in host.names() if not host.alive(daemon)]:
        return f"{', '.join(ended)} has ended"
    engine = _module("docker")
    return "its engine does not answer" if engine.DAEMON in host.names() and not engine.answers(host) else ""
