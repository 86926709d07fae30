"""The stressors of a trial: started on all of its nodes, read at both ends of the window, ended, removed."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Sequence

from loadstone.infrastructure import desk, journal
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import Machine, MachineLost, in_parallel
from loadstone.infrastructure.stressors import program, used
from loadstone.infrastructure.stressors.part import StressorPart
from loadstone.infrastructure.stressors.program import Operations
from loadstone.infrastructure.stressors.used import Readings
from loadstone.model.base import Model
from loadstone.model.cluster import Node
from loadstone.model.errors import DeploymentError
from loadstone.model.interference import Stressor
from loadstone.model.records.interference import NeighbourReading

_STARTED_WITHIN_S = 60.0
"""Processors of software take their time; what ends by itself is not waited for."""
_LOOK_S = 0.05


class _Started(Model):
    """What the journal at the desk has; ``name`` is what the machines' journals call it."""

    name: str
    parts: tuple[StressorPart, ...]
    access: dict[str, str] = {}
    """``cluster``: the journal's name of the cluster of ours that the nodes are in."""


class Stressors:
    """``start``, ``begin_window``, ``end_window``, ``stop``. ``name``: the deployment's."""

    def __init__(self, name: str, stressor: Stressor, nodes: Sequence[Node], cluster: str = "") -> None:
        self._stressor = stressor
        self._entry_name = journal.neighbour_name(name)
        self._started = _Started(
            name=f"{self._entry_name}-{secrets.token_hex(3)}",
            parts=tuple(StressorPart(node=node) for node in nodes),
            access={"cluster": cluster} if cluster else {},
        )
        self._before: Readings | None = None
        self._after: Readings | None = None
        self.problems: list[str] = []
        """Why they did not disturb the whole window, in sentences."""

    def start(self) -> None:
        """Spawn them and wait until all work. Leaves nothing behind if it fails, which raises DeploymentError."""
        owner = f"{self._entry_name}, started by {desk.user()} at {socket.gethostname()}"
        name, stressor = self._started.name, self._stressor
        self._save(self._entry_name, self._started)  # before anything is made: machines' journals are found by it
        try:
            parts = in_parallel(lambda part: part.spawned(name, stressor, owner), self._started.parts)
            self._started = self._started.model_copy(update={"parts": tuple(parts)})
            self._save(self._entry_name, self._started)
            deadline = time.monotonic() + _STARTED_WITHIN_S
            while starting := self._dead():
                if time.monotonic() > deadline or any("ended" in each or "killed" in each for each in starting):
                    raise DeploymentError("\n".join(starting))
                time.sleep(_LOOK_S)
        except BaseException:
            self.stop()
            raise

    def begin_window(self) -> None:
        """Read what they have used until now. Raises nothing."""
        self._before = used.read(self._started.parts)

    def end_window(self) -> None:
        """Read again, and note those that do not work any more. Raises nothing."""
        if self._after is None:
            self._after = used.read(self._started.parts)
            self.problems += self._dead()

    def stop(self) -> list[NeighbourReading]:
        """End and remove them; returns what each used in the window, none where there was no window."""
        if self._before is not None:
            self.end_window()
        operations: dict[str, Operations | None] = {}
        lost: list[StressorPart] = []

        def unless_lost(act: Callable[[StressorPart], object]) -> Callable[[StressorPart], None]:
            def tried(part: StressorPart) -> None:
                try:
                    act(part)
                except MachineLost:
                    lost.append(part)

            return tried

        def interrupt(part: StressorPart) -> None:
            if part.folder:
                operations[part.node.name] = part.interrupt(self._started.name)

        in_parallel(unless_lost(interrupt), self._started.parts)
        _each_machine(unless_lost(lambda part: part.machine.end(self._started.name)), self._started.parts)
        if lost:  # for `loadstone down`, under a name of its own
            left = self._started.model_copy(update={"parts": tuple(lost)})
            self._save(f"{self._entry_name}-left-{self._started.name[-6:]}", left)
        journal.forget(self._entry_name)
        if self._before is None or self._after is None:
            return []
        return used.between(self._before, self._after, self._started.parts, self._stressor, operations)

    def _dead(self) -> list[str]:
        """Those that do not work, in sentences."""
        standings = used.read(self._started.parts).standings
        found = [
            part.problem(self._started.name, self._stressor, standings[part.node.name]) for part in self._started.parts
        ]
        return [problem for problem in found if problem]

    @staticmethod
    def _save(name: str, started: _Started) -> None:
        journal.save(
            journal.JournalEntry(
                name=name,
                layer="interference",
                implementation="stressor",
                folder="",
                facts=started.model_dump(mode="json"),
            )
        )

    @staticmethod
    def findings(machines: Sequence[Machine]) -> list[Finding]:
        """What machines lack for stressors."""
        return program.findings(machines)

    @classmethod
    def undo(cls, entry: journal.JournalEntry) -> list[str]:
        """Remove the stressors of a journal entry, also of another process."""
        started = _Started.model_validate(entry.facts)
        _each_machine(lambda part: part.machine.end(started.name), started.parts)
        journal.forget(entry.name)
        return [f"{entry.name} (stressors on {', '.join(part.node.name for part in started.parts)})"]


def _each_machine(act: Callable[[StressorPart], object], parts: Sequence[StressorPart]) -> None:
    """Once for each machine: nodes may share one."""
    reaches = {part.node.reach.model_dump_json(): part for part in parts}
    in_parallel(act, list(reaches.values()))
