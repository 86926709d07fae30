"""Replicas as processes of their nodes' machines, each in a control group of its own and bound to its node's cores."""

from __future__ import annotations

import hashlib
import secrets
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from loadstone.infrastructure import desk, journal
from loadstone.infrastructure.base import Access, Finding
from loadstone.infrastructure.machines import MachineLost, connect, in_parallel
from loadstone.model.deployment import Deployment, Replica
from loadstone.model.errors import DeploymentError, LoadstoneError
from loadstone.model.records.audit import AuditRow
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.ports import Ports, free_ports
from loadstone.orchestration.process.commands import (
    Command,
    NodePlace,
    Site,
    address,
    commands,
    rendered,
    symbolic_site,
)
from loadstone.orchestration.process.share import MachinePart, Share, Started, StartedReplica, death, end
from loadstone.orchestration.process.store_setup import find, inspect, program, version

if TYPE_CHECKING:
    from loadstone.infrastructure.machines import Machine
    from loadstone.model.records.node.deployments import NodeProcess
    from loadstone.model.records.node.replicas import Standing, Subject, Used

_LAST_LINES = 15
_LOOK_S = 0.05


class Process(Orchestrator):
    """Starts each replica as a process that outlives us, and finds it again by the journals."""

    name = "process"
    software = "process"
    environments = ("bare", "vm")
    beside_others = True
    deploying_s = 5.0
    expresses: ClassVar[Mapping[str, frozenset[str]]] = {"high_availability": frozenset({"off"})}

    def __init__(self, deployment: Deployment, folder: Path, access: Access | None = None) -> None:
        super().__init__(deployment, folder, access)
        self._nodes = list(dict.fromkeys(replica.node for replica in deployment.replicas))
        self._entry: journal.JournalEntry | None = None
        self._started = Started(name="", parts={}, replicas=())
        self._shares: dict[str, Share] = {}
        self._commands: dict[str, Command] = {}

    # What will be started

    def preflight(self) -> list[Finding]:
        findings = [Finding("deployment", "warning", warning) for warning in self.deployment.warnings]
        for more in in_parallel(self._inspect, self._nodes):
            findings += more
        return list(dict.fromkeys(findings))

    def _inspect(self, node: str) -> list[Finding]:
        """What one machine lacks."""
        machine = self._machine(node)
        try:
            facts = machine.facts()
            software = [inspect(machine, name, self.deployment.software[name]) for name in self._software(node)]
        except LoadstoneError as error:
            return [Finding(node, "error", str(error))]
        if not facts.unlimited_because:
            message = f"CPU, memory and cores by control groups (version {facts.cgroups[1:]})"
            limits = [Finding("limits", "ok", message)]
        else:
            limits = [Finding("limits", "warning", text) for text in self._waivers([facts.unlimited_because])]
        return [*limits, Finding("stone", "ok", machine.stone), *software]

    def render(self) -> dict[str, str]:
        return rendered(self.deployment, symbolic_site(self.deployment))

    def versions(self) -> dict[str, str]:
        def of(node: str) -> dict[str, str]:
            machine, found = self._machine(node), {}
            for name in self._software(node):
                process = self.deployment.software[name].process
                path = find(machine, process) if process is not None else None
                found[name] = version(machine, path) if path is not None else "unknown"
            return found

        by_software: dict[str, list[str]] = {}
        for versions in in_parallel(of, self._nodes):
            for name, number in versions.items():
                by_software.setdefault(name, []).append(number)
        return {name: ", ".join(dict.fromkeys(numbers)) for name, numbers in by_software.items()}

    def _machine(self, node: str) -> Machine:
        return connect(node, self.deployment.node(node).reach)

    def _software(self, node: str) -> list[str]:
        """What must be installed on a node."""
        wanted = (replica.software for replica in self.deployment.replicas if replica.node == node)
        return [name for name in dict.fromkeys(wanted) if name is not None]

    def _waivers(self, reasons: Iterable[str]) -> list[str]:
        """Warnings about limits that cannot be applied."""
        limited = any(r.resources.cpu is not None or r.resources.memory is not None for r in self.deployment.replicas)
        return [f"CPU and memory limits are not applied: {why}" for why in dict.fromkeys(reasons) if why and limited]

    # Starting

    def apply(self, stores_only: bool = False) -> None:
        self._begin()

        def start(share: Share) -> None:
            there = share.processes()
            for command in self._chosen(stores_only, share.node):
                if command.replica.name not in there:
                    share.start(command)

        in_parallel(start, self._shares.values())

    def _begin(self) -> journal.JournalEntry:
        """This deployment's journal entry; written now if nothing of it was started yet."""
        if self._entry is None and journal.load(self.deployment.name) is None:
            parts = dict(zip(self._nodes, in_parallel(self._part, self._nodes), strict=True))
            ports = free_ports(self.deployment, {node: self._machine(node) for node in self._nodes})
            started = Started(
                name=f"{self.deployment.name}-{secrets.token_hex(3)}",
                parts=parts,
                replicas=tuple(self._replica(replica, ports) for replica in self.deployment.replicas),
                password=secrets.token_hex(32),
            )
            self._save(started)  # before anything is made: what the machines' journals have is found by it
            owner = f"{self.deployment.name}, deployed by {desk.user()} at {socket.gethostname()}"
            begun = in_parallel(lambda share: share.begin(self._digest(), owner), started.shares())
            started = started.model_copy(update={"parts": dict(zip(parts, begun, strict=True))})
            (self.folder / "logs").mkdir(parents=True, exist_ok=True)
            for name, text in rendered(self.deployment, _site(started)).items():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_text(text, encoding="utf-8")
            self._save(started)
        return self._attach()

    def _part(self, node: str) -> MachinePart:
        """Where a machine has the programs; raises DeploymentError for one that it lacks."""
        machine = self._machine(node)
        programs = {name: program(machine, name, self.deployment.software[name]) for name in self._software(node)}
        if any(replica.stone and replica.node == node for replica in self.deployment.replicas):
            programs["stone"] = machine.stone
        return MachinePart(reach=self.deployment.node(node).reach, programs=programs)

    def _save(self, started: Started) -> None:
        journal.save(
            journal.JournalEntry(
                name=self.deployment.name,
                layer="orchestrators",
                implementation=self.name,
                digest=self._digest(),
                folder=str(self.folder.resolve()),
                facts=started.model_dump(mode="json"),
            )
        )

    def _attach(self) -> journal.JournalEntry:
        """The journal entry of this deployment, which we or someone before us started."""
        if self._entry is not None:
            return self._entry
        entry = journal.load(self.deployment.name)
        if entry is None:
            raise DeploymentError(f"{self.deployment.name} is not deployed")
        if entry.digest != self._digest():
            raise DeploymentError(
                f"a deployment {entry.name!r} with other settings is running (from {entry.folder})",
                f"remove it with `loadstone down {entry.name}`",
            )
        self._started = Started.model_validate(entry.facts)
        self._shares = {share.node: share for share in self._started.shares()}
        self._commands = {c.replica.name: c for c in commands(self.deployment, _site(self._started))}
        waived = self._waivers(part.unlimited_because for part in self._started.parts.values())
        warnings = dict.fromkeys([*self.deployment.warnings, *waived])
        self.deployment = self.deployment.model_copy(update={"warnings": tuple(warnings)})
        self._entry = entry
        return entry

    def _digest(self) -> str:
        return hashlib.sha256("".join(self.render().values()).encode()).hexdigest()[:12]

    def _replica(self, replica: Replica, ports: Ports) -> StartedReplica:
        software = self.deployment.software.get(replica.software or "")
        process = software.process if software else None
        return StartedReplica(
            name=replica.name,
            node=replica.node,
            store=replica.store,
            stop_signal=process.stop_signal if process else "TERM",
            ports=ports[replica.name],
        )

    def _chosen(self, stores_only: bool, node: str | None = None) -> list[Command]:
        return [
            command
            for command in self._commands.values()
            if (command.replica.store or not stores_only) and node in (None, command.replica.node)
        ]

    # Watching

    def ready(self, stores_only: bool = False) -> None:
        self._attach()
        started = time.monotonic()

        def wait(share: Share) -> None:
            chosen = self._chosen(stores_only, share.node)
            while (waiting := share.not_ready(chosen)) is not None:
                self._refuse_deaths(share, chosen)
                command, reason = waiting
                if time.monotonic() > started + (within := command.replica.readiness.within):
                    message = f"{command.replica.name} was not ready within {within:g} s: {reason}"
                    raise DeploymentError(message + self._log_end(command.replica.name))
                time.sleep(_LOOK_S)
            self._refuse_deaths(share, chosen)  # another program may have answered on its port

        in_parallel(wait, self._shares.values())

    def _refuse_deaths(self, share: Share, chosen: Sequence[Command]) -> None:
        processes = share.processes()
        for command in chosen:
            name = command.replica.name
            if name in processes and (died := death(processes[name])) is not None:
                raise DeploymentError(f"{died} before it was ready" + self._log_end(name))

    def _log_end(self, name: str) -> str:
        lines = self._log(name, _LAST_LINES).splitlines()
        if not lines:
            return "\n  its log is empty"
        return "\n  its last log lines:\n" + "\n".join(f"    {line}" for line in lines)

    def events(self) -> list[str]:
        if self._entry is None and journal.load(self.deployment.name) is None:
            return []
        self._attach()

        def of(share: Share) -> list[str]:
            try:
                processes, full = share.processes(), share.full_disk()
            except DeploymentError as error:  # the machine is lost, or was restarted
                return [error.first_line]
            found = [event for name in self._commands if name in processes for event in self._events(processes[name])]
            return full + found

        return [event for events in in_parallel(of, self._shares.values()) for event in events]

    def _events(self, process: NodeProcess) -> list[str]:
        sentences = [died] if (died := death(process)) is not None else []
        if process.oom_kills:
            limit = self._commands[process.name].as_data()["limits"]["memory"]
            killed = f"the kernel killed {process.oom_kills} of its processes"
            sentences.append(f"{process.name} ran out of memory: {killed} (limit {limit})")
        return sentences

    def logs(self, service: str | None = None, lines: int = 50) -> dict[str, str | None]:
        chosen = self.deployment.replicas if service is None else self.deployment.of(service)
        return {replica.name: self._log(replica.name, lines) for replica in chosen}

    def _log(self, name: str, lines: int) -> str:
        """The end of a log: of the machine while it runs, of the folder once it is removed."""
        command = self._commands.get(name)
        if command is not None:
            try:
                return self._shares[command.replica.node].log(name, lines)
            except DeploymentError:  # that the machine is lost is an event
                return ""
        try:
            text = (self.folder / "logs" / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    # Reading back

    @property
    def password(self) -> str:
        self._attach()
        return self._started.password

    def addresses(self, service: str, port: str) -> list[str]:
        self._attach()
        ports = {replica.name: replica.ports for replica in self._started.replicas}
        return [address(self.deployment, replica, ports, port) for replica in self.deployment.of(service)]

    def audit(self) -> list[AuditRow]:
        from loadstone.orchestration.auditing import audit_process  # with records that checking a study does not need

        self._attach()

        def of(share: Share) -> list[AuditRow]:
            chosen = self._chosen(False, share.node)
            try:
                processes, standings = share.processes(), share.standings(["limits", "environment"], chosen)
                facts = share.machine.facts()
                return [
                    row
                    for command in chosen
                    for row in audit_process(command, self.deployment, share, processes, standings, facts)
                ]
            except MachineLost as error:
                return [
                    AuditRow(
                        replica=command.replica.name,
                        node=share.node,
                        what="machine",
                        wanted="there",
                        effective=str(error),
                    )
                    for command in chosen
                ]

        return [row for rows in in_parallel(of, self._shares.values()) for row in rows]

    def usage(self) -> dict[str, Used]:
        self._attach()

        def of(share: Share) -> dict[str, Standing]:
            try:
                return share.standings(["usage"], self._chosen(False, share.node))
            except MachineLost:  # that it is lost is an event
                return {}

        return {
            name: standing.usage
            for standings in in_parallel(of, self._shares.values())
            for name, standing in standings.items()
            if standing.usage is not None
        }

    def subjects(self) -> dict[str, tuple[str, Subject]]:
        self._attach()
        return {
            name: (share.node, subject)
            for share in self._shares.values()
            for name, subject in share.subjects(self._chosen(False, share.node)).items()
        }

    def new_peaks(self) -> bool:
        self._attach()

        def begin(share: Share) -> bool:
            subjects = share.subjects(self._chosen(False, share.node))
            try:
                return bool(subjects) and share.machine.new_peaks(subjects)
            except MachineLost:
                return False

        return all(in_parallel(begin, self._shares.values()))

    # Removing

    def remove(self) -> None:
        """What runs on a machine that is lost stays in the journal, under a name of its own, for `loadstone down`."""
        entry = self._entry or journal.load(self.deployment.name)
        self._entry, self._commands = None, {}
        if entry is None:
            return
        _, lost = end(entry)
        if lost:
            started = Started.model_validate(entry.facts)
            parts = {node: part for node, part in started.parts.items() if node in lost}
            replicas = tuple(replica for replica in started.replicas if replica.node in lost)
            left = started.model_copy(update={"parts": parts, "replicas": replicas})
            name = f"{entry.name}-left-{started.name[-6:]}"
            journal.save(entry.model_copy(update={"name": name, "facts": left.model_dump(mode="json")}))
        journal.forget(entry.name)

    @classmethod
    def undo(cls, entry: journal.JournalEntry) -> list[str]:
        ran, lost = end(entry)
        if lost:
            raise DeploymentError("\n".join(lost.values()), f"`loadstone down {entry.name}` removes what runs there")
        journal.forget(entry.name)
        return [f"{entry.name} ({ran} of its {len(entry.facts['replicas'])} processes were running)"]


def _site(started: Started) -> Site:
    places = {
        node: NodePlace(part.programs, part.folder, part.group, part.user) for node, part in started.parts.items()
    }
    return Site({replica.name: replica.ports for replica in started.replicas}, places)
