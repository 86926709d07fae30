"""Replicas as processes of this machine, each in a control group of its own and bound to its node's cores."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import signal
import time
from pathlib import Path
from typing import ClassVar, Literal

from loadstone.infrastructure import cgroup, journal
from loadstone.infrastructure.base import Access, Finding
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.cgroup import Usage
from loadstone.infrastructure.places import data_root
from loadstone.infrastructure.programs import version
from loadstone.model.base import Model
from loadstone.model.deployment import Deployment, Replica
from loadstone.model.errors import DeploymentError, PreflightError
from loadstone.model.records import AuditRow
from loadstone.orchestration import running
from loadstone.orchestration.auditing import audit_process, usage_from_proc
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.commands import Command, Site, address, commands, rendered, symbolic_site
from loadstone.orchestration.installed import inspect, prepare_data, program
from loadstone.orchestration.ports import Ports, free_ports
from loadstone.orchestration.probing import why_not_ready

_GRACE_S = 5.0
_LAST_LINES = 15


class StartedReplica(Model):
    """What must be known to stop a replica and to reach it."""

    name: str
    store: bool
    stop_signal: Literal["TERM", "INT", "QUIT"]
    ports: dict[str, int]


class Started(Model):
    """What the journal knows of a deployment: where its parts are. Replicas in start order."""

    data: str
    group: str | None
    """Its control group; None where none could be made."""
    replicas: tuple[StartedReplica, ...]


class Process(Orchestrator):
    """Starts each replica as a process that outlives us, and finds it again by the journal."""

    name = "process"
    software = "process"
    expresses: ClassVar[dict[str, frozenset[str]]] = {
        "scaling": frozenset({"baseline", "vertical", "horizontal", "unlimited"}),
        "environment": frozenset({"bare"}),
        "high_availability": frozenset({"off"}),
        "profile": frozenset({"default", "dsb-quirks", "paper"}),
        "documents": frozenset({"postgres", "mongodb"}),
    }

    def __init__(self, deployment: Deployment, folder: Path, access: Access | None = None) -> None:
        self._groups = cgroup.find()
        self._unlimited = self._groups.problem()
        warnings = [*deployment.warnings, *_own_warnings(deployment, self._unlimited)]
        super().__init__(deployment.model_copy(update={"warnings": tuple(warnings)}), folder, access)
        self._entry: journal.Entry | None = None
        self._started = Started(data="", group=None, replicas=())
        self._commands: dict[str, Command] = {}
        self._spawned: dict[str, int] = {}
        self._exit_codes: dict[str, int] = {}

    # What will be started

    def preflight(self) -> list[Finding]:
        findings = [Finding("deployment", "warning", warning) for warning in self.deployment.warnings]
        if self._unlimited is None:
            message = f"CPU, memory and cores by control groups (version {self._groups.version})"
            findings.append(Finding("limits", "ok", message))
        if any(replica.stone for replica in self.deployment.replicas):
            try:
                findings.append(Finding("stone", "ok", str(stone_binary())))
            except PreflightError as error:
                findings.append(Finding("stone", "error", str(error)))
        return findings + [inspect(name, software) for name, software in self.deployment.software.items()]

    def render(self) -> dict[str, str]:
        return rendered(self.deployment, symbolic_site(self.deployment))

    def versions(self) -> dict[str, str]:
        return {name: version(program(name, software)) for name, software in self.deployment.software.items()}

    # Starting

    def apply(self, stores_only: bool = False) -> None:
        entry = self._begin()
        for command in self._chosen(stores_only):
            record = journal.records_folder(entry.name) / command.replica.name
            if not record.exists():
                self._start(command, record, entry)

    def _begin(self) -> journal.Entry:
        """This deployment's journal entry; written now if nothing of it was started yet."""
        if self._entry is None and journal.load(self.deployment.name) is None:
            ports = free_ports(self.deployment)
            place = self._unused_place()
            started = Started(
                data=str(data_root() / "deployments" / place),
                group=None if self._unlimited else f"loadstone/{place}",
                replicas=tuple(self._replica(replica, ports) for replica in self.deployment.replicas),
            )
            entry = journal.Entry(
                name=self.deployment.name,
                layer="orchestrators",
                implementation=self.name,
                digest=self._digest(),
                folder=str(self.folder.resolve()),
                facts=started.model_dump(mode="json"),
            )
            site = self._site(started)  # finds every program before anything is written
            (self.folder / "logs").mkdir(parents=True, exist_ok=True)
            for name, text in rendered(self.deployment, site).items():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_text(text, encoding="utf-8")
            journal.save(entry)
        return self._attach()

    def _unused_place(self) -> str:
        """A folder name for data and control groups: the deployment's, unless another journal's user has it."""
        for number in itertools.count(1):
            place = self.deployment.name if number == 1 else f"{self.deployment.name}-{number}"
            taken = self._unlimited is None and self._groups.exists(f"loadstone/{place}")
            if not taken and not (data_root() / "deployments" / place).exists():
                return place
        raise AssertionError("counting never ends")

    def _attach(self) -> journal.Entry:
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
        self._commands = {c.replica.name: c for c in commands(self.deployment, self._site(self._started))}
        self._entry = entry
        return entry

    def _digest(self) -> str:
        return hashlib.sha256("".join(self.render().values()).encode()).hexdigest()[:12]

    def _replica(self, replica: Replica, ports: Ports) -> StartedReplica:
        software = self.deployment.software.get(replica.software or "")
        process = software.process if software else None
        return StartedReplica(
            name=replica.name,
            store=replica.store,
            stop_signal=process.stop_signal if process else "TERM",
            ports=ports[replica.name],
        )

    def _site(self, started: Started) -> Site:
        programs = {name: program(name, software) for name, software in self.deployment.software.items()}
        if any(replica.stone for replica in self.deployment.replicas):
            programs["stone"] = str(stone_binary())
        return Site({replica.name: replica.ports for replica in started.replicas}, programs, started.data)

    def _start(self, command: Command, record: Path, entry: journal.Entry) -> None:
        name, user = command.replica.name, command.user
        try:
            if command.data is not None:
                software = command.replica.software
                found = program(software, self.deployment.software[software]) if software else ""
                prepare_data(software or "stone", found, command.initialise, user, Path(command.data))
                for file, text in command.files.items():
                    _write(Path(command.data), file, text)
            groups = []
            if (group := self._started.group) is not None:
                self._groups.make(f"{group}/{name}", command.limits)
                groups = self._groups.joining(f"{group}/{name}")
            self._spawned[name] = running.spawn(
                command.argv,
                command.environment,
                log=Path(entry.folder, "logs", f"{name}.log"),
                record=record,
                groups=groups,
                folder=command.data or "/",
                user=user,
                cores=() if groups else command.limits.cores or (),
            )
        except (OSError, cgroup.CgroupError) as error:
            raise DeploymentError(f"{name} cannot be started: {error}") from None

    def _chosen(self, stores_only: bool) -> list[Command]:
        return [c for c in self._commands.values() if c.replica.store or not stores_only]

    # Watching

    def ready(self, stores_only: bool = False) -> None:
        self._attach()
        chosen = self._chosen(stores_only)
        started = time.monotonic()
        for command in chosen:
            deadline = started + command.replica.readiness.within
            while True:
                for one in chosen:
                    if (death := self._death(one.replica.name)) is not None:
                        raise DeploymentError(f"{death} before it was ready" + self._last_words(one.replica.name))
                reason = why_not_ready(command)
                if reason is None:
                    break
                if time.monotonic() > deadline:
                    within = command.replica.readiness.within
                    message = f"{command.replica.name} was not ready within {within:g} s: {reason}"
                    raise DeploymentError(message + self._last_words(command.replica.name))
                time.sleep(0.05)

    def _identity(self, name: str) -> running.Identity | None:
        return running.recorded(journal.records_folder(self.deployment.name) / name)

    def _death(self, name: str) -> str | None:
        """A sentence if the replica was started and does not run any more."""
        identity = self._identity(name)
        pid = identity.pid if identity is not None else self._spawned.get(name)
        if pid is None or (identity is not None and running.is_alive(identity)):
            return None
        if (code := running.exit_code(pid)) is not None:
            self._exit_codes[name] = code
        if identity is None and name not in self._exit_codes:  # about to write its record
            return None
        code = self._exit_codes.get(name)
        if code is None:
            how = "ended"
        elif code < 0:
            how = f"was killed by signal {-code} ({signal.strsignal(-code)})"
        else:
            how = f"ended with exit code {code}"
        return f"{name} (pid {pid}) {how}"

    def _last_words(self, name: str) -> str:
        lines = self._tail(name, _LAST_LINES).splitlines()
        if not lines:
            return "\n  its log is empty"
        return "\n  its last log lines:\n" + "\n".join(f"    {line}" for line in lines)

    def events(self) -> list[str]:
        if self._entry is None and journal.load(self.deployment.name) is None:
            return []
        self._attach()
        sentences = []
        for name, command in self._commands.items():
            if (death := self._death(name)) is not None:
                sentences.append(death)
            used = self._usage(name, command)
            if used is not None and used.oom_kills:
                limit = command.as_data()["limits"]["memory"]
                killed = f"the kernel killed {used.oom_kills} of its processes"
                sentences.append(f"{name} ran out of memory: {killed} (limit {limit})")
        return sentences

    def logs(self, service: str | None = None, lines: int = 50) -> dict[str, str]:
        chosen = self.deployment.replicas if service is None else self.deployment.of(service)
        return {replica.name: self._tail(replica.name, lines) for replica in chosen}

    def _tail(self, name: str, lines: int) -> str:
        try:
            folder = Path(self._entry.folder) if self._entry else self.folder
            text = (folder / "logs" / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    # Reading back

    def addresses(self, service: str, port: str) -> list[str]:
        self._attach()
        ports = {replica.name: replica.ports for replica in self._started.replicas}
        return [address(self.deployment, replica, ports, port) for replica in self.deployment.of(service)]

    def audit(self) -> list[AuditRow]:
        self._attach()
        rows = []
        for name, command in self._commands.items():
            rows += audit_process(command, self.deployment, self._identity(name), self._groups, self._unlimited or "")
        return rows

    def usage(self) -> dict[str, Usage]:
        self._attach()
        found = {name: self._usage(name, command) for name, command in self._commands.items()}
        return {name: used for name, used in found.items() if used is not None}

    def recordable(self) -> dict[str, tuple[str, dict[str, str]]]:
        self._attach()
        if (group := self._started.group) is None:
            return {}
        return {one.name: (one.node, {"group": f"{group}/{one.name}"}) for one in self.deployment.replicas}

    def new_peaks(self) -> bool:
        self._attach()
        group = self._started.group
        return group is not None and all(self._groups.reset_peak(f"{group}/{name}") for name in self._commands)

    def _usage(self, name: str, command: Command) -> Usage | None:
        if self._started.group is None:
            identity = self._identity(name)
            return usage_from_proc(identity.pid) if identity and running.is_alive(identity) else None
        try:
            return self._groups.usage(f"{self._started.group}/{name}")
        except cgroup.CgroupError:  # not started yet
            return None

    # Removing

    def remove(self) -> None:
        entry = self._entry or journal.load(self.deployment.name)
        if entry is not None:
            self.undo(entry)
        self._entry = None

    @classmethod
    def undo(cls, entry: journal.Entry) -> list[str]:
        started = Started.model_validate(entry.facts)
        groups = cgroup.find()
        records = journal.records_folder(entry.name)
        ended = []
        for stores in (False, True):  # services first: they still use the stores while they end
            wave = [
                (identity, replica.stop_signal)
                for replica in reversed(started.replicas)
                if replica.store is stores and (identity := running.recorded(records / replica.name)) is not None
            ]
            ended += [identity for identity, _ in wave if running.is_alive(identity)]
            running.stop(wave, _GRACE_S)
        if started.group is not None:
            groups.kill(started.group)
            groups.remove(started.group)
        if Path(started.data).exists():
            try:
                shutil.rmtree(started.data)
            except OSError as error:
                raise DeploymentError(f"cannot remove {started.data}: {error.strerror}", "remove it by hand") from None
        journal.forget(entry.name)
        return [f"{entry.name} ({len(ended)} of its {len(started.replicas)} processes were running)"]


def _write(folder: Path, name: str, text: str) -> None:
    """A file below a data folder that every user may read who may enter the folder."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o644)
    for parent in file.relative_to(folder).parents:
        if parent != Path():
            (folder / parent).chmod(0o755)


def _own_warnings(deployment: Deployment, unlimited: str | None) -> list[str]:
    warnings = []
    limited = any(r.resources.cpu is not None or r.resources.memory is not None for r in deployment.replicas)
    if unlimited is not None and limited:
        warnings.append(f"CPU and memory limits are not applied: {unlimited}")
    return warnings
