"""Hosts of an inventory, reached over SSH: looked at side by side, and claimed by one study at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from loadstone import plugins
from loadstone.infrastructure import desk, inventories, journal
from loadstone.infrastructure.base import Access, Finding, Infrastructure, Provision, Say
from loadstone.infrastructure.hosts import checks, claims, packages
from loadstone.infrastructure.hosts.claims import Claimed
from loadstone.infrastructure.images.registry import trusted
from loadstone.infrastructure.machines import connect, in_parallel
from loadstone.infrastructure.software.base import Member, Software, lasting
from loadstone.model.base import Finding as StudyFinding
from loadstone.model.cluster import Cluster, Node, Reach, Role
from loadstone.model.errors import DeploymentError, InputError, LoadstoneError
from loadstone.model.inventory import Inventory


class _Roles(NamedTuple):
    """Names of hosts. A manager is nothing else; a client may be a worker, too."""

    clients: list[str]
    managers: list[str]
    workers: list[str]


class Hosts(Infrastructure):
    """Managers are as many as requested, workers the first ``cluster.workers`` of the others that are listed, else all;
    clients those listed, else this machine. Software is started on managers and workers.
    """

    name = "hosts"
    software = frozenset(plugins.names("software"))
    follows = frozenset({"hosts", "inventory", "install"})
    names_workers = False

    def __init__(self, cluster: Cluster, entry_name: str) -> None:
        super().__init__(cluster, entry_name)
        self._inventory = self._read(cluster)
        self._nodes: dict[str, Node] = {}
        self._claimed: list[Claimed] = []
        self._software: Software | None = None

    @classmethod
    def _read(cls, cluster: Cluster) -> Inventory:
        return inventories.read(cluster)

    @classmethod
    def objections(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        if cluster.inventory is None and cluster.hosts is None:
            text = "infrastructure 'hosts' needs the file that lists them; write inventory: hosts.yaml, or their names"
            yield ("inventory",), f"{text} in the SSH configuration: hosts: [node-1, node-2]"
        if cluster.inventory is not None and cluster.hosts is not None:
            yield ("hosts",), "the inventory lists the hosts already; remove one of the two"

    @classmethod
    def wrong_files(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        if cluster.inventory is None:
            return
        try:
            cls._read(cluster)
        except InputError as error:
            texts = [str(problem) for problem in error.problems] or [str(error)]
            yield from ((("inventory",), text) for text in texts)

    @classmethod
    def client_machines(cls, cluster: Cluster) -> int | None:
        return sum("client" in host.roles for host in cls._read(cluster).hosts.values()) or 1

    def preflight(self, software: str, managers: int) -> list[Finding]:
        roles = self._roles(managers)
        for what, there, wanted, remedy in (
            ("managers", roles.managers, managers, "give more hosts the role manager, or set cluster.managers"),
            (
                "workers",
                roles.workers,
                self.cluster.workers,
                f"set cluster.workers: {len(roles.workers)}, or add hosts",
            ),
        ):
            if len(there) < wanted:
                message = f"{self._listed} has {len(there)} {what}, {wanted} were requested"
                return [Finding("cluster", "error", message, remedy)]
        hosts = self._hosts(managers)
        listed, addresses = self._inventory.hosts, self._listed
        looks = in_parallel(lambda host: checks.look(host.name, host.machine, listed[host.name], addresses), hosts)
        found = [finding for look in looks for finding in look]
        out_of_reach = {finding.what for finding in found if finding.level == "error" and finding.stops}
        machines = {host.name: host.machine for host in hosts if host.name not in out_of_reach}
        at_managers, at_workers = (
            [machines[name] for name in names if name in machines] for names in (roles.managers, roles.workers)
        )
        kind: Software = plugins.find("software", software)()
        return [*found, *checks.software(kind, at_managers, at_workers, self.cluster.install)]

    @property
    def _listed(self) -> str:
        """Where the hosts are listed."""
        return self.cluster.inventory or "cluster.hosts"

    def _with(self, role: str) -> list[str]:
        """The hosts that have a role, in the order in which they are listed."""
        return [name for name, host in self._inventory.hosts.items() if role in host.roles]

    def _roles(self, managers: int) -> _Roles:
        works = set(self._with("worker"))
        chosen = sorted(self._with("manager"), key=lambda name: name in works)[:managers]
        wanted = self.cluster.workers if "workers" in self.cluster.model_fields_set else None
        workers = [name for name in self._with("worker") if name not in chosen][:wanted]
        return _Roles(self._with("client"), chosen, workers)

    def _hosts(self, managers: int) -> list[Claimed]:
        """All that are used, each once."""
        roles = self._roles(managers)
        by_name: dict[str, Role] = {
            **dict.fromkeys(roles.clients, "client"),
            **dict.fromkeys(roles.workers, "worker"),
            **dict.fromkeys(roles.managers, "manager"),
        }
        return [
            Claimed(name=name, role=role, address=self._inventory.hosts[name].address, reach=self._reach(name))
            for name, role in by_name.items()
        ]

    def sketch(self, software: str, managers: int) -> list[Node]:
        roles = self._roles(managers)
        new = [name for names in roles for name in names if name not in self._nodes]
        self._nodes |= zip(new, in_parallel(self._node, new), strict=True)
        at_clients, at_managers, workers = (
            [self._nodes[name].model_copy(update={"role": role}) for name in names]
            for names, role in zip(roles, ("client", "manager", "worker"), strict=True)
        )
        return [
            *(at_clients or [desk.client(address=desk.address_towards(workers[0].address))]),
            *at_managers,
            *workers,
        ]

    def reaches(self, software: str, managers: int) -> list[tuple[str, Reach]]:
        hosts = self._hosts(managers)
        here = [] if any(host.role == "client" for host in hosts) else [("client", Reach())]
        return [*here, *((host.name, host.reach) for host in hosts)]

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        hosts = self._hosts(managers)
        say(f"claiming {len(hosts)} hosts")
        self._claimed = hosts
        try:
            claims.claim(self.entry_name, self.name, hosts, software)
            claims.end_left_overs(hosts)
            nodes = tuple(self.sketch(software, managers))
            kind: Software = plugins.find("software", software)()
            return Provision(nodes, self._start(kind, hosts, say) if kind.clustered else None)
        except BaseException:
            self.release()
            raise

    def _start(self, kind: Software, hosts: Sequence[Claimed], say: Say) -> Access:
        """The way in to the cluster of managers and workers, which come in this order."""
        self._software = kind
        members = sorted((host.member for host in hosts if host.role != "client"), key=lambda member: member.role)
        if self.cluster.install:
            packages.install(kind, [member.machine for member in members], say)
        folder = journal.records_folder(self.entry_name) / "desk"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        access = kind.start(members, trusted(self.cluster.registry), folder, say)
        sockets = {here: (host.reach, there) for host in hosts for here, there in host.machine.sockets.items()}
        return replace(access, cluster=self.entry_name, sockets=sockets)

    def release(self) -> None:
        """A host that is lost keeps the claim, and the journal its entry: `loadstone down` gives it back."""
        entry = journal.load(self.entry_name) if self._claimed else None
        self._claimed, self._software = [], None
        if entry is not None and not claims.give_back(entry):
            journal.forget(entry.name)

    def problems(self) -> list[str]:
        members = [host.member for host in self._claimed]

        def trouble(member: Member) -> str:
            try:
                member.machine.clock()
                if self._software is None or member.role == "client":
                    return ""
                return self._software.trouble(member)
            except LoadstoneError as error:
                return error.first_line.removeprefix(f"{member.name}: ")

        troubles = in_parallel(trouble, members)
        return lasting(dict(zip((member.name for member in members), troubles, strict=True)), members)

    @classmethod
    def undo(cls, entry: journal.JournalEntry) -> list[str]:
        if lost := claims.give_back(entry):
            raise DeploymentError("\n".join(lost), f"`loadstone down {entry.name}` tries again")
        journal.forget(entry.name)
        return [f"{entry.name} (claim of {len(entry.facts['hosts'])} hosts)"]

    def _reach(self, name: str) -> Reach:
        host, config = self._inventory.hosts[name], self._inventory.ssh.config or ""
        return Reach(transport="ssh", options={"host": host.login or name, "config": config})

    def _node(self, name: str) -> Node:
        try:
            facts = connect(name, self._reach(name)).facts()
        except LoadstoneError as error:
            message, remedy = checks.explained(name, error, self._inventory.hosts[name])
            raise DeploymentError(f"{name}: {message}", remedy) from None
        return Node(
            name=name,
            role="worker",
            address=self._inventory.hosts[name].address,
            cpus=facts.cpus,
            memory=facts.memory_available // 2**20 * 2**20,
            shared={"client", "worker"} <= set(self._inventory.hosts[name].roles),
            reach=self._reach(name),
        )
