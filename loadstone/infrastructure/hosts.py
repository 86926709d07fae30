"""Hosts of an inventory, reached over SSH: looked at side by side, and claimed by one study at a time."""

from __future__ import annotations

import getpass
import secrets
import socket
import time
from collections.abc import Iterator, Mapping

from loadstone.infrastructure import desk, inventories, journal
from loadstone.infrastructure.base import Finding, Infrastructure, Provision, Say
from loadstone.infrastructure.machines import Machine, MachineLost, NodeError, connect, in_parallel
from loadstone.model.base import Finding as StudyFinding
from loadstone.model.cluster import Cluster, Node, Reach
from loadstone.model.errors import DeploymentError, LoadstoneError
from loadstone.model.inventory import InventoryHost
from loadstone.model.units import format_memory

_CLAIM = "claim"
"""What a host's journal calls the study that uses it."""
_LEAST_DISK = 2**30
_MOST_OFFSET_S = 1.0
_PORT = 20_000


class Hosts(Infrastructure):
    """Workers are the first ``cluster.workers`` that are listed, else all; clients those listed, else this machine."""

    name = "hosts"
    software = frozenset({"process"})
    follows = frozenset({"hosts", "inventory"})
    names_workers = False

    def __init__(self, cluster: Cluster, entry_name: str) -> None:
        super().__init__(cluster, entry_name)
        self._inventory = inventories.read(cluster)
        wanted = cluster.workers if "workers" in cluster.model_fields_set else None
        self._workers = self._with("worker")[:wanted]
        self._clients = self._with("client")
        self._used = list(dict.fromkeys([*self._clients, *self._workers]))
        self._nodes: list[Node] = []
        self._claimed = False

    @classmethod
    def objections(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        if cluster.inventory is None and cluster.hosts is None:
            text = "infrastructure 'hosts' needs the file that lists them; write inventory: hosts.yaml, or their names"
            yield ("inventory",), f"{text} in the SSH configuration: hosts: [node-1, node-2]"
        if cluster.inventory is not None and cluster.hosts is not None:
            yield ("hosts",), "the inventory lists the hosts already; remove one of the two"

    def preflight(self, software: str, managers: int) -> list[Finding]:
        if self.cluster.workers > len(self._workers):
            message = f"{self._listed} has {len(self._workers)} workers, {self.cluster.workers} were asked for"
            return [Finding("cluster", "error", message, f"set cluster.workers: {len(self._workers)}, or add hosts")]
        return in_parallel(lambda name: self._look(name, self._inventory.hosts[name]), self._used)

    @property
    def _listed(self) -> str:
        """Where the hosts are listed."""
        return self.cluster.inventory or "cluster.hosts"

    def _with(self, role: str) -> list[str]:
        """The hosts that have a role, in the order in which they are listed."""
        return [name for name, host in self._inventory.hosts.items() if role in host.roles]

    def sketch(self, software: str, managers: int) -> list[Node]:
        if not self._nodes:
            found = dict(zip(self._used, in_parallel(self._node, self._used), strict=True))
            workers = [found[name] for name in self._workers]
            clients = [found[name].model_copy(update={"role": "client"}) for name in self._clients]
            self._nodes = [*(clients or [desk.node(workers[0].address)]), *workers]
        return self._nodes

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        say(f"claiming {len(self._used)} hosts")
        reaches = {name: self._reach(name) for name in self._used}
        left = journal.load(self.entry_name)  # of hosts that were lost: they may still have our claim
        token = left.facts["token"] if left is not None else secrets.token_hex(6)
        facts = {"token": token, "reaches": {name: reach.model_dump() for name, reach in reaches.items()}}
        journal.save(
            journal.Entry(
                name=self.entry_name, layer="infrastructure", implementation=self.name, folder="", facts=facts
            )
        )
        self._claimed = True
        started = time.strftime("%Y-%m-%d %H:%M")
        owner = f"{self.entry_name}, started {started} by {getpass.getuser()} at {socket.gethostname()}"

        def claim(name: str) -> None:
            try:
                connect(name, reaches[name]).begin(_CLAIM, token, owner)
            except NodeError as error:
                if error.kind != "refused":
                    raise
                other = error.reason.partition("owner is ")[2]
                raise DeploymentError(f"{name}: another study uses this host: {other}", _WHEN_USED) from None

        try:
            in_parallel(claim, reaches)
            _end_left_overs(reaches)
            return Provision(tuple(self.sketch(software, managers)))
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """A host that is lost keeps the claim, and the journal its entry: `loadstone down` gives it back."""
        entry = journal.load(self.entry_name) if self._claimed else None
        self._claimed = False
        if entry is not None and not _give_back(entry):
            journal.forget(entry.name)

    def problems(self) -> list[str]:
        if not self._claimed:
            return []
        return [why for why in in_parallel(lambda name: _lost(connect(name, self._reach(name))), self._used) if why]

    @classmethod
    def undo(cls, entry: journal.Entry) -> list[str]:
        if lost := _give_back(entry):
            raise DeploymentError("\n".join(lost), f"`loadstone down {entry.name}` tries again")
        journal.forget(entry.name)
        return [f"{entry.name} (claim of {len(entry.facts['reaches'])} hosts)"]

    def _reach(self, name: str) -> Reach:
        host, config = self._inventory.hosts[name], self._inventory.ssh.config or ""
        return Reach(transport="ssh", options={"host": host.login or name, "config": config})

    def _node(self, name: str) -> Node:
        facts = connect(name, self._reach(name)).facts()
        return Node(
            name=name,
            role="worker",
            address=self._inventory.hosts[name].address,
            cpus=facts.cpus,
            memory=facts.memory_available // 2**20 * 2**20,
            shared={"client", "worker"} <= set(self._inventory.hosts[name].roles),
            here=False,
            reach=self._reach(name),
        )

    def _look(self, name: str, host: InventoryHost) -> Finding:
        """The first thing that stands in the way of using a host."""
        machine = connect(name, self._reach(name))
        try:
            facts = machine.facts()
            offset = machine.clock_offset_s()
            used = [one for one in machine.deployments() if one.deployment not in _ours()]
        except LoadstoneError as error:
            message, _, remedy = str(error).partition("\n  ")
            return Finding(name, "error", f"{message}{f' (ask {host.owner})' if host.owner else ''}", remedy)
        free = min(facts.disks.values(), default=0)
        if used:
            claim = next((one for one in used if one.deployment == _CLAIM), used[0])
            return Finding(name, "error", f"{name}: another study uses this host: {claim.owner}", _WHEN_USED)
        if facts.unlimited_because:
            message = f"{name}: limits cannot be set there: {facts.unlimited_because}"
            return Finding(name, "error", message, "mount its control groups, with cpu, cpuset and memory")
        if free < _LEAST_DISK:
            folder = min(facts.disks, key=lambda path: facts.disks[path])
            message = f"{name}: its disk is full: {folder} has {format_memory(free // 2**20 * 2**20)} left"
            return Finding(name, "error", message, f"make room: {format_memory(_LEAST_DISK)} at least")
        if abs(offset) > _MOST_OFFSET_S:
            way = "ahead of" if offset > 0 else "behind"
            message = f"{name}: its clock is {abs(offset):.1f} s {way} this machine's"
            return Finding(name, "error", message, "set both by NTP, such as chrony, and wait until they agree")
        try:
            machine.ports(host.address, [_PORT])
        except LoadstoneError:
            message = f"{name}: it has no address {host.address} on which replicas could listen"
            return Finding(name, "error", message, f"correct `address` in {self._listed}")
        size = f"{len(facts.cpus)} cores, {format_memory(facts.memory_available // 2**20 * 2**20)} available"
        return Finding(name, "ok", f"{facts.os}, {facts.arch}, {size}")


_WHEN_USED = "wait until it ends, or remove what a killed run left: `loadstone down` where it was started"


def _ours() -> set[str]:
    """What journals of hosts call our own deployments."""
    return {str(entry.facts.get("name") or _CLAIM) for entry in journal.entries()}


def _lost(machine: Machine) -> str:
    """Why a machine cannot be reached; empty if it can."""
    try:
        machine.clock()
    except LoadstoneError as error:
        return str(error).partition("\n")[0]
    return ""


def _end_left_overs(reaches: Mapping[str, Reach]) -> None:
    """End what we deployed on hosts that were lost then, and run again: it would work beside the next trial."""
    found = in_parallel(lambda name: connect(name, reaches[name]).deployments(), reaches)
    names = {one.deployment for deployments in found for one in deployments}
    for entry in journal.entries():
        if entry.facts.get("name") in names:
            journal.remove_all([entry.name])


def _give_back(entry: journal.Entry) -> list[str]:
    """End the claims that are ours; returns why hosts could not be reached."""
    reaches: Mapping[str, dict[str, object]] = entry.facts["reaches"]

    def end(name: str) -> str:
        machine = connect(name, Reach.model_validate(reaches[name]))
        try:
            found = machine.deployment(_CLAIM)
            if found is not None and found.digest == entry.facts["token"]:
                machine.end(_CLAIM)
        except MachineLost as error:
            return str(error).partition("\n")[0]
        return ""

    return [why for why in in_parallel(end, reaches) if why]
