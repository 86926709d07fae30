"""What one machine has of a deployment of processes: started, looked at and stopped over its channel."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from loadstone.infrastructure import journal
from loadstone.infrastructure.machines import MachineLost, NodeError, connect, in_parallel
from loadstone.model.base import Model
from loadstone.model.cluster import Reach
from loadstone.model.errors import DeploymentError
from loadstone.model.software import STORE_PASSWORD
from loadstone.orchestration.process.commands import Command
from loadstone.orchestration.process.store_setup import prepare_data

if TYPE_CHECKING:  # records are loaded where they are made: checking a study makes none
    from loadstone.infrastructure.machines import Machine
    from loadstone.infrastructure.machines.base import ReplicaPart
    from loadstone.model.records.node.deployments import NodeProcess
    from loadstone.model.records.node.replicas import Standing, Subject

_GRACE_S = 5.0
_KEPT_LINES = 10_000
_READY_WITHIN_S = 15.0
_LEAST_FREE = 1 << 20
"""Bytes."""


class StartedReplica(Model):
    """What must be known to stop a replica and to reach it."""

    name: str
    node: str
    store: bool
    stop_signal: Literal["TERM", "INT", "QUIT"]
    ports: dict[str, int]


class MachinePart(Model):
    """Where a machine has a deployment, as the journal at the desk holds it."""

    reach: Reach
    programs: dict[str, str]
    folder: str = ""
    """For data; empty until the machine's own journal has the deployment."""
    user: str = ""
    """The number of the user that its processes run as; empty where the node is not root."""
    group: str | None = None
    """The control group; None where none could be made."""
    unlimited_because: str = ""


class Share:
    """One machine's part of a deployment. ``name``: what the machine's journal calls it."""

    def __init__(self, node: str, name: str, part: MachinePart, password: str) -> None:
        self.node = node
        self.part = part
        self._name = name
        self._password = password

    @property
    def machine(self) -> Machine:
        """The machine."""
        return connect(self.node, self.part.reach)

    def begin(self, digest: str, owner: str) -> MachinePart:
        """The part with what the machine gives to it: a folder and a control group."""
        begun = self.machine.begin(self._name, digest, owner)
        return self.part.model_copy(update=dict(begun))

    def processes(self) -> dict[str, NodeProcess]:
        """What was spawned, alive or dead, by name; raises DeploymentError where the machine has forgotten it."""
        found = self.machine.deployment(self._name)
        if found is None:
            raise DeploymentError(f"{self.node}: what was deployed there is gone")
        return {process.name: process for process in found.processes}

    def start(self, command: Command) -> None:
        """Prepare a replica's data and spawn it."""
        from loadstone.model.records.node.deployments import SpawnArgs

        replica, machine = command.replica, self.machine
        try:
            if command.data is not None:
                software = replica.software or "stone"
                program = self.part.programs[software]
                prepare_data(machine, software, program, command, self._password)
            machine.spawn(
                SpawnArgs(
                    deployment=self._name,
                    name=replica.name,
                    argv=tuple(command.argv),
                    env=with_password(command.environment, self._password),
                    folder=command.data or "/",
                    user=command.user,
                    limits=command.limits,
                    files=with_password(command.files, self._password),
                )
            )
        except NodeError as error:
            raise DeploymentError(f"{replica.name} cannot be started on {error}") from None

    def not_ready(self, commands: Sequence[Command]) -> tuple[Command, str] | None:
        """The first that is not ready, and why not."""
        if not commands:
            return None
        machine, urls = self.machine, {command.ready_url: command for command in commands}
        done = machine.run([machine.stone, "ready", *urls], within_s=_READY_WITHIN_S)
        if done.code != 0:
            return urls.get(done.complaint.partition(" ")[0], commands[0]), done.complaint
        for command in commands:
            if command.ready and (done := machine.run(command.ready, within_s=_READY_WITHIN_S)).code != 0:
                return command, done.complaint
        return None

    def standings(self, what: Sequence[ReplicaPart], commands: Sequence[Command]) -> dict[str, Standing]:
        """What the kernel has of replicas; nothing where there are no control groups."""
        return self.machine.read(what, self.subjects(commands)) if self.part.group is not None else {}

    def subjects(self, commands: Sequence[Command]) -> dict[str, Subject]:
        """Where the replicas are; nothing where there are no control groups."""
        if self.part.group is None:
            return {}
        from loadstone.model.records.node.replicas import Subject

        return {
            command.replica.name: Subject(
                group=f"{self.part.group}/{command.replica.name}", folder=command.environment.get("STONE_DATA", "")
            )
            for command in commands
        }

    def full_disk(self) -> list[str]:
        """A sentence if the disk of the replicas' data takes nothing more: what failed then is not the application."""
        folder = self.part.folder
        done = self.machine.run(["stat", "--file-system", "--format=%a %S", folder], within_s=_READY_WITHIN_S)
        blocks, _, size = done.stdout.strip().partition(" ")
        if done.code != 0 or int(blocks) * int(size) >= _LEAST_FREE:
            return []
        return [f"{self.node}: the disk of {folder} is full"]

    def log(self, name: str, lines: int) -> str:
        """The last lines that a replica wrote."""
        return self.machine.log(self._name, name, lines).rstrip("\n")

    def stop(self, replicas: Sequence[StartedReplica]) -> int:
        """End replicas by their own signals, in this order; returns how many of them ran."""
        found = self.machine.deployment(self._name)
        spawned = {process.name: process for process in found.processes} if found is not None else {}
        mine = [replica for replica in replicas if replica.node == self.node and replica.name in spawned]
        for name in dict.fromkeys(replica.stop_signal for replica in mine):
            names = [replica.name for replica in mine if replica.stop_signal == name]
            self.machine.stop(self._name, names, name, _GRACE_S)
        return sum(spawned[replica.name].alive for replica in mine)

    def end(self, names: Sequence[str], logs: Path) -> int:
        """Remove what is left, and the machine's own record of it; the ends of the logs stay in a folder here."""
        with contextlib.suppress(OSError):  # on a full disk all is removed too, without its logs
            for name in names:
                if logs.is_dir() and (text := self.log(name, _KEPT_LINES)):
                    (logs / f"{name}.log").write_text(text + "\n", encoding="utf-8")
        return len(self.machine.end(self._name))


def with_password(texts: Mapping[str, str], password: str) -> dict[str, str]:
    """The texts with the password where one stands for it."""
    return {name: text.replace(STORE_PASSWORD, password) for name, text in texts.items()}


def death(process: NodeProcess) -> str | None:
    """A sentence if a process was started and does not run any more."""
    if process.alive or process.pid == 0:
        return None
    how = "ended"
    if process.signal:
        number = signal.Signals[process.signal]
        how = f"was killed by signal {number.value} ({signal.strsignal(number)})"
    elif process.exit_code is not None:
        how = f"ended with exit code {process.exit_code}"
    return f"{process.name} (pid {process.pid}) {how}"


class Started(Model):
    """What the journal at the desk has of a deployment: where its parts are. Replicas in start order."""

    name: str
    """What the machines' journals call it: several desks may deploy the same on one machine."""
    parts: dict[str, MachinePart]
    """By node."""
    replicas: tuple[StartedReplica, ...]
    password: str = ""
    """The password of its stores."""

    def shares(self) -> list[Share]:
        """The machines' parts."""
        return [Share(node, self.name, part, self.password) for node, part in self.parts.items()]


def end(entry: journal.JournalEntry) -> tuple[int, dict[str, str]]:
    """End and remove everything; returns how many processes ran, and why machines could not be reached, by node."""
    started = Started.model_validate(entry.facts)
    shares, ran, lost = started.shares(), 0, {}

    def tried(act: Callable[[Share], int]) -> int:
        def end_part(share: Share) -> int:
            if share.node in lost:
                return 0
            try:
                return act(share)
            except MachineLost as error:
                lost[share.node] = str(error)
                return 0

        return sum(in_parallel(end_part, shares))

    for stores in (False, True):  # services first: they still use the stores while they end
        wave = [replica for replica in reversed(started.replicas) if replica.store is stores]
        ran += tried(lambda share, wave=wave: share.stop(wave))  # type: ignore[misc]
    tried(lambda share: share.end([replica.name for replica in started.replicas], Path(entry.folder, "logs")))
    return ran, lost
