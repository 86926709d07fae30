"""Hosts of an inventory, reached over SSH: looked at side by side, and claimed by one study at a time."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding, Infrastructure, Provision, Say
from loadstone.infrastructure.machines import Machine, MachineLost, NodeError, connect, in_parallel
from loadstone.model.base import Finding as StudyFinding
from loadstone.model.cluster import Cluster, Node, Reach
from loadstone.model.document import Document
from loadstone.model.errors import DeploymentError, InputError, LoadstoneError
from loadstone.model.inventory import Inventory, InventoryHost
from loadstone.model.units import format_memory

_CLAIM = "claim"
"""What a host's journal calls the study that uses it."""
_LEAST_DISK = 2**30
_MOST_OFFSET_S = 1.0
_PORT = 20_000


class Hosts(Infrastructure):
    """The workers are all of the inventory; the client is this machine."""

    name = "hosts"
    software = frozenset({"process"})
    follows = frozenset({"inventory"})
    names_workers = False

    def __init__(self, cluster: Cluster, entry_name: str) -> None:
        super().__init__(cluster, entry_name)
        self._inventory = Document.read(Path(cluster.inventory or "hosts.yaml")).parse(Inventory)
        self._workers = {name: host for name, host in self._inventory.hosts.items() if "worker" in host.roles}
        self._nodes: list[Node] = []
        self._claimed = False

    @classmethod
    def objections(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        if cluster.inventory is None:
            yield ("inventory",), "infrastructure 'hosts' needs the file that lists them; write inventory: hosts.yaml"

    def preflight(self, software: str, managers: int) -> list[Finding]:
        if self.cluster.workers > len(self._workers):
            message = f"{self.cluster.inventory} has {len(self._workers)} workers, not {self.cluster.workers}"
            return [Finding("cluster", "error", message, "set fewer cluster.workers, or add hosts")]
        return in_parallel(lambda item: self._look(*item), self._workers.items())

    def sketch(self, software: str, managers: int) -> list[Node]:
        if not self._nodes:
            workers = in_parallel(self._node, self._workers)
            self._nodes = [_client(workers[0].address), *workers]
        return self._nodes

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        say(f"claiming {len(self._workers)} hosts")
        reaches = {name: self._reach(name) for name in self._workers}
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
        return [why for why in in_parallel(lambda name: _lost(connect(name, self._reach(name))), self._workers) if why]

    @classmethod
    def undo(cls, entry: journal.Entry) -> list[str]:
        if lost := _give_back(entry):
            raise DeploymentError("\n".join(lost), f"`loadstone down {entry.name}` tries again")
        journal.forget(entry.name)
        return [f"{entry.name} (claim of {len(entry.facts['reaches'])} hosts)"]

    def _reach(self, name: str) -> Reach:
        config = self._inventory.ssh.config or os.environ.get("LOADSTONE_SSH_CONFIG", "")
        return Reach(transport="ssh", options={"host": self._workers[name].login or name, "config": config})

    def _node(self, name: str) -> Node:
        facts = connect(name, self._reach(name)).facts()
        return Node(
            name=name,
            role="worker",
            address=self._workers[name].address,
            cpus=facts.cpus,
            memory=facts.memory_available // 2**20 * 2**20,
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
            return Finding(name, "error", message, f"correct `address` in {self.cluster.inventory}")
        size = f"{len(facts.cpus)} cores, {format_memory(facts.memory_available // 2**20 * 2**20)} available"
        return Finding(name, "ok", f"{facts.os}, {facts.arch}, {size}")


_WHEN_USED = "wait until it ends, or remove what a killed run left: `loadstone down` where it was started"


def _ours() -> set[str]:
    """What journals of hosts call our own deployments."""
    return {str(entry.facts.get("name") or _CLAIM) for entry in journal.entries()}


def _client(towards: str) -> Node:
    """This machine, by the address from which it reaches another one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((towards, 9))
        except OSError as error:
            raise InputError(f"this machine has no route to {towards}: {error.strerror}") from None
        address = probe.getsockname()[0]
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return Node(name="client", role="client", address=address, cpus=cpus, memory=memory)


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
