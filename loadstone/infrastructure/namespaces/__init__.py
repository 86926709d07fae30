"""Emulated hosts on this machine: several nodes with real cluster software, sharing its cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadstone import plugins
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding, Infrastructure, Provision, Say
from loadstone.infrastructure.images.registry import trusted
from loadstone.infrastructure.local import Local
from loadstone.infrastructure.machines import connect, this_machine
from loadstone.infrastructure.namespaces import checks
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.network import Network, one_at_a_time, subnet_for
from loadstone.infrastructure.paths import data_root
from loadstone.infrastructure.software import load_software, preflight
from loadstone.infrastructure.software.base import Member, Software, lasting
from loadstone.model.base import plural
from loadstone.model.cluster import Cluster, Link, Node, Role
from loadstone.model.errors import DeploymentError, LoadstoneError

_DEPLOYMENT = "cluster"
"""What the journals of the hosts call what runs on them."""


class Namespaces(Infrastructure):
    """The client is this machine, on the client's cores of ``local``; all hosts share those of its worker."""

    name = "namespaces"
    software = frozenset(plugins.names("software"))
    follows = frozenset({"link"})
    self_contained = True

    def __init__(self, cluster: Cluster, entry_name: str) -> None:
        super().__init__(cluster, entry_name)
        self._emulated: EmulatedHosts | None = None
        self._software: Software | None = None
        self._members: list[Member] = []
        self._begun = False

    def preflight(self, software: str, managers: int) -> list[Finding]:
        findings = [*Local(Cluster()).preflight("process", 0), *checks.machine(self.cluster.link)]
        kind = load_software(software)
        if not any(finding.level == "error" for finding in findings):  # else what it tries fails for that reason
            findings += preflight.findings(
                kind, [this_machine()], lambda _, package: f"sudo apt-get install -y {package}"
            )
        if managers == 0 and kind.managed:
            findings.append(
                Finding(
                    "cluster",
                    "error",
                    f"{software} needs a manager, but cluster.managers is 0",
                    "set cluster.managers: 1",
                )
            )
        workers, free = self.cluster.workers, this_machine().facts().memory_available
        hosts = managers + workers
        need = "1 emulated host needs" if hosts == 1 else f"{hosts} emulated hosts need"
        return [*findings, preflight.memory(kind, managers, workers, free, need)]

    def sketch(self, software: str, managers: int) -> list[Node]:
        names = self._names(managers)
        return _sketch(names, Network("", "", subnet_for(len(names), [])))

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        if (left := journal.load(self.entry_name)) is not None:
            say("removing the hosts of an earlier run")
            self.undo(left)
        names = self._names(managers)
        say(f"making {plural(len(names), 'emulated host')}")
        try:
            emulated = self._claim(names)
            nodes = self._boot(emulated, say)
            members = self._members = members_of(nodes)
            for member in members:
                member.machine.begin(_DEPLOYMENT, self.entry_name, self.entry_name)
            self._software = load_software(software)
            folder = desk_folder(emulated)
            folder.mkdir(mode=0o700)
            access = self._software.start(members, trusted(self.cluster.registry), folder, say)
        except BaseException:
            self.release()
            raise
        forwarded = ((node.reach, connect(node.name, node.reach).sockets) for node in nodes)
        sockets = {here: (reach, there) for reach, found in forwarded for here, there in found.items()}
        access = replace(access, cluster=self.entry_name, switch=emulated.switch.daemons, sockets=sockets)
        return Provision(tuple(nodes), access)

    def _boot(self, emulated: EmulatedHosts, say: Say) -> list[Node]:
        """Make the hosts; the client, and the hosts as nodes."""
        link = self.cluster.link or Link()
        emulated.make(link.rate, link.delay)
        return nodes_of(emulated)

    def release(self) -> None:
        if self._begun and (entry := journal.load(self.entry_name)) is not None:
            self.undo(entry)
        for member in self._members:
            member.machine.close()
        self._begun, self._emulated, self._software, self._members = False, None, None, []

    def problems(self) -> list[str]:
        if self._emulated is None or self._software is None:
            return []
        up, software = self._up(self._emulated), self._software
        troubles = {
            member.name: _trouble(member, software) if member.name in up else "it is down" for member in self._members
        }
        return lasting(troubles, self._members)

    def _up(self, emulated: EmulatedHosts) -> set[str]:
        """The names of the hosts that run."""
        return {host.name for host in emulated.hosts if host.up()}

    @classmethod
    def undo(cls, entry: journal.JournalEntry) -> list[str]:
        emulated = EmulatedHosts.of(entry.facts)
        try:
            emulated.remove()
        except (DeploymentError, OSError) as error:
            raise DeploymentError(
                f"{entry.name}: an emulated host cannot be removed: {error}", "`loadstone down` tries again"
            ) from None
        journal.forget(entry.name)
        return [f"{entry.name} ({len(emulated.names)} emulated hosts)"]

    @classmethod
    def holding(cls, file: str) -> tuple[journal.JournalEntry, EmulatedHosts] | None:
        """The emulated hosts of the journal that a file of theirs belongs to, such as a kubeconfig; None of others."""
        for entry in journal.entries():
            if entry.layer == "infrastructure" and entry.implementation == cls.name:
                emulated = EmulatedHosts.of(entry.facts)
                if Path(file).resolve().is_relative_to(Path(emulated.hosts_folder).resolve()):
                    return entry, emulated
        return None

    def _names(self, managers: int) -> list[str]:
        workers = self.cluster.workers
        return [f"manager-{n + 1}" for n in range(managers)] + [f"worker-{n + 1}" for n in range(workers)]

    def _claim(self, names: list[str]) -> EmulatedHosts:
        _, worker = Local(Cluster()).sketch("process", 0)
        with one_at_a_time():
            planned = EmulatedHosts.planned(names, data_root() / "clusters")
            self._begun = True
            self._save(planned)
            emulated = planned.claim(worker.cpus)
        self._save(emulated)
        self._emulated = emulated
        return emulated

    def _save(self, emulated: EmulatedHosts) -> None:
        journal.save(
            journal.JournalEntry(
                name=self.entry_name,
                layer="infrastructure",
                implementation=self.name,
                folder=emulated.hosts_folder,
                facts=emulated.as_data(),
            )
        )


def nodes_of(emulated: EmulatedHosts) -> list[Node]:
    """The client first, then all hosts in the order of their addresses, each with the way to it."""
    reached = {host.name: host.reach for host in emulated.hosts}
    nodes = _sketch(emulated.names, emulated.network)
    return [node.model_copy(update={"reach": reached.get(node.name, node.reach)}) for node in nodes]


def _sketch(names: Sequence[str], network: Network) -> list[Node]:
    client, worker = Local(Cluster()).sketch("process", 0)
    hosts = [
        worker.model_copy(
            update={"name": name, "role": role(name), "address": str(network.address(number)), "emulated": True}
        )
        for number, name in enumerate(names)
    ]
    return [client.model_copy(update={"address": network.client}), *hosts]


def members_of(nodes: Sequence[Node]) -> list[Member]:
    """The hosts as members of the cluster that runs on them."""
    return [
        Member(node.name, node.role, node.address, connect(node.name, node.reach), _DEPLOYMENT)
        for node in nodes
        if node.role != "client"
    ]


def _trouble(member: Member, software: Software) -> str:
    """Why a member that runs does not work; one that hangs does not answer."""
    try:
        return software.trouble(member)
    except LoadstoneError as error:
        return error.first_line.removeprefix(f"{member.name}: ")


def desk_folder(emulated: EmulatedHosts) -> Path:
    """What the desk needs of the cluster that runs on the hosts."""
    return Path(emulated.hosts_folder, "desk")


def role(name: str) -> Role:
    """The role of the host of that name."""
    return "manager" if name.startswith("manager-") else "worker"
