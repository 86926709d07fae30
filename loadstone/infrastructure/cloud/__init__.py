"""Machines that are made for a study: journalled before they are requested, used as ``hosts``, and given back.

What is the same for all providers is here; each provider is a ``CloudService``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from loadstone import plugins
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding, Infrastructure, Provision, Say, Terms
from loadstone.infrastructure.cloud import held, login, preparing
from loadstone.infrastructure.cloud.service import CloudService
from loadstone.infrastructure.hosts import Hosts
from loadstone.model.base import Finding as StudyFinding
from loadstone.model.cluster import Cluster, Node, Reach, Role
from loadstone.model.errors import DeploymentError, LoadstoneError, PreflightError
from loadstone.model.instances import Instances

_BOOT_S = 1800.0
"""Machines of bare metal test their memory before they start."""
_ROLES: tuple[Role, ...] = ("client", "manager", "worker")


class MadeMachines(Infrastructure):
    """Machines stay from the first treatment that needs them until the end of the run; the cluster on them is that of
    ``hosts``. A treatment that needs more gets more.
    """

    software = frozenset(plugins.names("software"))
    follows = frozenset({"instances", "install"})
    makes_machines = True
    service: ClassVar[type[CloudService]]
    needs: ClassVar[tuple[str, ...]] = ()
    """Keys of ``cluster.instances`` that have no default here."""
    emulated: ClassVar[bool] = False
    """Whether its machines share the cores of this one."""

    def __init__(self, cluster: Cluster, entry_name: str) -> None:
        super().__init__(cluster, entry_name)
        self._wanted = cluster.instances or Instances()
        self._name = journal.machines_name(entry_name)
        self._hosts: Hosts | None = None

    @classmethod
    def objections(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        for key in cls.needs:
            if getattr(cluster.instances or Instances(), key) is None:
                yield (
                    ("instances", key),
                    f"infrastructure {cls.name!r} needs it; write cluster: {{instances: {{{key}: ...}}}}",
                )

    @classmethod
    def client_machines(cls, cluster: Cluster) -> int | None:
        wanted = cluster.instances.clients if cluster.instances is not None else None
        return wanted or 1

    def preflight(self, software: str, managers: int) -> list[Finding]:
        service = self._service("loadstone-preflight", self._folder)
        try:
            where = service.where()
        except LoadstoneError as error:
            return [Finding(self.name, "error", error.message, error.remedy)]
        there = held.load(self._name)
        missing = set(self._names(managers)) - set(there.machines if there is not None else ())
        found = service.check(len(missing))
        if any(finding.level == "error" for finding in found):
            return found
        message = f"{len(missing)} machines would be made in {where}"
        return [*found, Finding(self.name, "ok", message)]

    def terms(self, managers: int) -> Terms:
        service = self._service("loadstone-terms", self._folder)
        hourly, currency = service.price() or (None, "")
        kind = " at ".join(part for part in (self._wanted.type or self.name, self._wanted.site) if part)
        held_s = self._wanted.hold if service.leases else None
        return Terms(len(self._names(managers)), kind, held_s, hourly, currency)

    def sketch(self, software: str, managers: int) -> list[Node]:
        if self._hosts is not None:
            return self._marked(self._hosts.sketch(software, managers))
        try:
            size = self._service("loadstone-sketch", self._folder).size()
        except LoadstoneError:  # the preflight reports it
            size = None
        cpus = tuple(range(size.cpus)) if size is not None else tuple(sorted(os.sched_getaffinity(0)))
        memory = size.memory if size is not None else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return [
            Node(
                name=name,
                role=_role(name),
                address=f"198.18.{number // 250}.{number % 250 + 1}",
                cpus=cpus,
                memory=memory,
                emulated=self.emulated,
                reach=Reach(transport="planned"),
            )
            for number, name in enumerate(self._names(managers))
        ]

    def acquire(self, software: str, managers: int, say: Say, entry_ports: Sequence[int] = ()) -> None:
        try:
            inventory = self._made(managers, say)
            self._prepare(inventory, software, entry_ports, say)
            cluster = {"infrastructure": "hosts", "inventory": str(inventory), "workers": self.cluster.workers}
            hosts = Hosts(self.cluster.model_copy(update={**cluster, "instances": None}), self.entry_name)
            found = hosts.preflight(software, managers)
            for warning in (each for each in found if each.level == "warning"):
                say(f"warning: {warning.what}: {warning.message}")
            _refuse((f"{each.what}: {each.message}", each.remedy) for each in found if each.level == "error")
            self._hosts = hosts
        except BaseException as error:
            try:
                self.give_back(False, say)
            except LoadstoneError as left:
                raise DeploymentError(f"{error}\n{left}") from error
            raise

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        assert self._hosts is not None, "machines are acquired first"
        provision = self._hosts.provide(software, managers, say)
        return replace(provision, nodes=tuple(self._marked(provision.nodes)))

    def release(self) -> None:
        if self._hosts is not None:
            self._hosts.release()

    def problems(self) -> list[str]:
        return self._hosts.problems() if self._hosts is not None else []

    def give_back(self, keep: bool, say: Say) -> None:
        self._hosts = None
        there = held.load(self._name)
        if there is None or (keep and there.kept):
            return
        if keep and there.ready:
            there = held.save(self._name, self.name, there.model_copy(update={"kept": True}))
            say(f"{self._name}: {there.sentence(datetime.now(UTC))}")
            say(f"use them: cluster: {{infrastructure: hosts, inventory: {self._folder / login.INVENTORY}}}")
            say(f"give them back: loadstone down {self._name}")
            return
        say(f"giving back {len(there.machines)} machines")
        journal.remove_all([self._name])

    @classmethod
    def undo(cls, entry: journal.JournalEntry) -> list[str]:
        there = held.of(entry)
        service = cls.service(there.instances, there.token, journal.records_folder(entry.name))
        again = f"`loadstone down {entry.name}` tries again"
        try:
            if (where := service.where()) != there.where:
                message = f"{entry.name}: its machines are in {there.where}, but the credentials are those of {where}"
                raise DeploymentError(message, f"use those of {there.where}, then {again}")
            login.close(journal.records_folder(entry.name), there.machines)
            service.remove()
        except DeploymentError:
            raise
        except LoadstoneError as error:
            raise DeploymentError(f"{entry.name}: machines cannot be given back: {error}", again) from None
        journal.forget(entry.name)
        return [f"{entry.name} ({len(there.machines)} machines of {there.where})"]

    @property
    def _folder(self) -> Path:
        return journal.records_folder(self._name)

    def _made(self, managers: int, say: Say) -> Path:
        """The inventory of all machines, at least those that are needed; the journal has each before its request."""
        there = held.load(self._name)
        if there is None:
            terms, now = self.terms(managers), datetime.now(UTC)
            until = None if terms.held_s is None else now + timedelta(seconds=terms.held_s)
            where = self._service("loadstone-account", self._folder).where()
            there = held.begin(terms, where, self._wanted, until)
        names = list(dict.fromkeys([*there.machines, *self._names(managers)]))
        complete = there.ready and names == there.machines
        prepared = there.prepared if complete else []
        there = there.model_copy(update={"machines": names, "ready": complete, "prepared": prepared, "kept": False})
        held.save(self._name, self.name, there)
        if complete:
            return self._folder / login.INVENTORY
        service = self._service(there.token, self._folder)
        say(f"requesting {len(names)} machines of {there.where}")
        key = login.public_key(self._folder)
        made = service.make(names, key, there.until or datetime.now(UTC) + timedelta(seconds=self._wanted.hold), say)
        inventory = login.write(self._folder, made, self._wanted.login or service.usual_login, there.owner)
        login.wait_until_reached(self._folder, names, _BOOT_S, say)
        held.save(self._name, self.name, there.model_copy(update={"ready": True}))
        return inventory

    def _prepare(self, inventory: Path, software: str, entry_ports: Sequence[int], say: Say) -> None:
        """Once for each software that runs on them, and again where machines were added or other ports are needed."""
        there, ports = held.load(self._name), sorted(entry_ports)
        if there is None or not self._wanted.prepare or (software in there.prepared and ports == there.entry_ports):
            return
        prepared = sorted({*there.prepared, software})
        _refuse(preparing.prepare(inventory, prepared, ports, self._wanted.clock_bound, say))
        held.save(self._name, self.name, there.model_copy(update={"prepared": prepared, "entry_ports": ports}))

    def _marked(self, nodes: Sequence[Node]) -> list[Node]:
        return [node.model_copy(update={"emulated": self.emulated}) for node in nodes]

    def _service(self, token: str, folder: Path) -> CloudService:
        return self.service(self._wanted, token, folder)

    def _names(self, managers: int) -> list[str]:
        clients = 1 if self._wanted.clients is None else self._wanted.clients
        counts = {"client": clients, "manager": managers, "worker": self.cluster.workers}
        return [f"{role}-{number + 1}" for role in _ROLES for number in range(counts[role])]


def _role(name: str) -> Role:
    return next(role for role in _ROLES if name.startswith(f"{role}-"))


def _refuse(troubles: Iterable[tuple[str, str]]) -> None:
    """Raise PreflightError where there is any: each message, with its remedy."""
    if lines := [f"{message}\n  {remedy}" if remedy else message for message, remedy in troubles]:
        raise PreflightError("\n".join(lines))
