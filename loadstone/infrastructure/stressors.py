"""Stressors: ``stress-ng`` on the machines of nodes, in control groups of their own, journalled here and there."""

from __future__ import annotations

import getpass
import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import yaml

from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import Machine, MachineLost, connect, in_parallel
from loadstone.model.base import Model
from loadstone.model.cluster import Node
from loadstone.model.errors import DeploymentError, LoadstoneError
from loadstone.model.interference import Stressor
from loadstone.model.records import NeighbourReading
from loadstone.model.records.node import NodeLimits, NodeProcess, SpawnArgs, Standing, Subject

PROGRAM = "stress-ng"
_GRACE_S = 10.0
"""It removes its files and writes its metrics."""
_STARTED_WITHIN_S = 10.0
_LOOK_S = 0.05
_BYTES = 256 * 2**20
"""That each worker of ``vm`` maps, and of ``hdd`` writes to a file."""
_OF_LIMIT = 0.75
"""The share of a memory limit that all workers of ``vm`` map together."""


class _Part(Model):
    """One node's stressor: the way there and, once its machine's journal has it, its folder and control group."""

    node: Node
    folder: str = ""
    group: str | None = None


class _Started(Model):
    """What the journal at the desk has; ``name`` is what the machines' journals call it."""

    name: str
    parts: tuple[_Part, ...]
    access: dict[str, str] = {}
    """``cluster``: the journal's name of the cluster of ours that the nodes are in."""


class _Window(NamedTuple):
    at_s: float
    standings: Mapping[str, Standing]


def arguments(stressor: Stressor, folder: str, report: str) -> tuple[str, ...]:
    """The command line of ``stress-ng``, files in ``folder`` and metrics to ``report``; it runs until interrupted."""
    kind, workers = stressor.stressor, stressor.workers
    argv = [PROGRAM, f"--{kind}", str(workers)]
    if stressor.load is not None:
        argv += ["--cpu-load", f"{100 * stressor.load:.0f}"]
    if kind == "vm":
        most = stressor.limits.memory
        argv += ["--vm-bytes", str(_BYTES if most is None else min(_BYTES, int(_OF_LIMIT * most / workers)))]
    if kind == "hdd":
        argv += ["--hdd-bytes", str(_BYTES)]
    return (*argv, "--timeout", "0", "--temp-path", folder, "--metrics", "--yaml", report)


class Stressors:
    """The stressors of one trial: ``start``, ``begin_window``, ``end_window``, ``stop``. ``name``: the deployment's."""

    def __init__(self, name: str, stressor: Stressor, nodes: Sequence[Node], cluster: str = "") -> None:
        self._stressor = stressor
        self._entry_name = journal.neighbour_name(name)
        self._started = _Started(
            name=f"{self._entry_name}-{secrets.token_hex(3)}",
            parts=tuple(_Part(node=node) for node in nodes),
            access={"cluster": cluster} if cluster else {},
        )
        self._before: _Window | None = None
        self._after: _Window | None = None
        self.problems: list[str] = []
        """Why they did not disturb the whole window, in sentences."""

    def start(self) -> None:
        """Spawn them and wait until all work. Leaves nothing behind if it fails, which raises DeploymentError."""
        self._save()  # before anything is made: what the machines' journals have is found by it
        try:
            parts = tuple(in_parallel(self._spawn, self._started.parts))
            self._started = self._started.model_copy(update={"parts": parts})
            self._save()
            deadline = time.monotonic() + _STARTED_WITHIN_S
            while starting := self._dead():
                if time.monotonic() > deadline or any("ended" in each or "killed" in each for each in starting):
                    raise DeploymentError("\n".join(starting))
                time.sleep(_LOOK_S)
        except BaseException:
            self.stop()
            raise

    def _spawn(self, part: _Part) -> _Part:
        machine, node = _machine(part), part.node
        owner = f"{self._entry_name}, started by {getpass.getuser()} at {socket.gethostname()}"
        begun = machine.begin(self._started.name, str(self._stressor), owner)
        machine.spawn(
            SpawnArgs(
                deployment=self._started.name,
                name=node.name,
                argv=arguments(self._stressor, begun.folder, _report(begun.folder, node)),
                folder=begun.folder,
                limits=NodeLimits(
                    cpu=self._stressor.limits.cpu, memory=self._stressor.limits.memory, cores=tuple(node.cpus)
                ),
            )
        )
        return part.model_copy(update={"folder": begun.folder, "group": begun.group})

    def begin_window(self) -> None:
        """Read what they have used until now. Raises nothing."""
        self._before = self._read()

    def end_window(self) -> None:
        """Read again, and note those that do not work any more. Raises nothing."""
        if self._after is None:
            self._after = self._read()
            self.problems += self._dead()

    def stop(self) -> list[NeighbourReading]:
        """End and remove them; returns what each used in the window, none where there was no window."""
        if self._before is not None:
            self.end_window()
        operations: dict[str, tuple[int, float] | None] = {}
        lost: list[_Part] = []

        def unless_lost(act: Callable[[_Part], object]) -> Callable[[_Part], None]:
            def tried(part: _Part) -> None:
                try:
                    act(part)
                except MachineLost:
                    lost.append(part)

            return tried

        def interrupt(part: _Part) -> None:
            if part.folder:
                _machine(part).stop(self._started.name, [part.node.name], "INT", _GRACE_S)
                operations[part.node.name] = _operations(part)

        in_parallel(unless_lost(interrupt), self._started.parts)
        _each_machine(unless_lost(lambda part: _machine(part).end(self._started.name)), self._started.parts)
        if lost:  # for `loadstone down`, under a name of its own
            left = self._started.model_copy(update={"parts": tuple(lost)})
            self._save(f"{self._entry_name}-left-{self._started.name[-6:]}", left)
        journal.forget(self._entry_name)
        return self._readings(operations)

    def _readings(self, operations: Mapping[str, tuple[int, float] | None]) -> list[NeighbourReading]:
        if self._before is None or self._after is None:
            return []
        return [
            self._reading(part, self._before, self._after, operations.get(part.node.name))
            for part in self._started.parts
            if all(
                window.standings.get(part.node.name, Standing.nothing("")).usage
                for window in (self._before, self._after)
            )
        ]

    def _reading(
        self, part: _Part, before: _Window, after: _Window, operations: tuple[int, float] | None
    ) -> NeighbourReading:
        was, now = before.standings[part.node.name], after.standings[part.node.name]
        assert was.usage is not None and now.usage is not None
        io = {}
        if was.io is not None and now.io is not None:
            # Workers that ended took their counts along.
            io = {"read": max(0, now.io.read - was.io.read), "written": max(0, now.io.written - was.io.written)}
        return NeighbourReading(
            name=self._stressor.stressor,
            node=part.node.name,
            window_s=round(after.at_s - before.at_s, 3),
            cpu_s=round(now.usage.cpu_s - was.usage.cpu_s, 6),
            memory=now.usage.memory,
            **io,
            operations=operations[0] if operations else None,
            operations_per_s=round(operations[1], 3) if operations else None,
            command=arguments(self._stressor, part.folder, _report(part.folder, part.node)),
        )

    def _read(self) -> _Window:
        """The standings of all, by node; a machine that does not answer has none."""
        found: dict[str, Standing] = {}

        def read(part: _Part) -> None:
            try:
                found.update(_machine(part).read(["usage", "io", "events"], {part.node.name: self._subject(part)}))
            except LoadstoneError as error:
                found[part.node.name] = Standing.nothing(str(error))

        in_parallel(read, self._started.parts)
        return _Window(time.monotonic(), found)

    def _subject(self, part: _Part) -> Subject:
        return Subject(group=f"{part.group}/{part.node.name}")

    def _dead(self) -> list[str]:
        """Those that do not work, in sentences."""
        sentences = []
        for part, standing in zip(self._started.parts, self._standings(), strict=True):
            what = f"stressor {self._stressor.stressor} on {part.node.name}"
            try:
                process = _process(part, self._started.name)
            except LoadstoneError as error:
                sentences.append(f"{what}: {error}")
                continue
            if standing.usage is not None and standing.usage.oom_kills:
                sentences.append(f"{what} ran out of memory and was killed; raise interference.limits.memory")
            elif not process.alive:
                how = f"was killed by SIG{process.signal.removeprefix('SIG')}" if process.signal else "ended by itself"
                sentences.append(f"{what} {how}: {_last_line(part, self._started.name)}")
            elif standing.usage is None or standing.usage.pids <= self._stressor.workers:
                there = max(0, standing.usage.pids - 1) if standing.usage is not None else 0
                sentences.append(f"{what} has {there} of {self._stressor.workers} workers")
        return sentences

    def _standings(self) -> list[Standing]:
        read = self._read()
        return [read.standings[part.node.name] for part in self._started.parts]

    def _save(self, name: str = "", started: _Started | None = None) -> None:
        journal.save(
            journal.JournalEntry(
                name=name or self._entry_name,
                layer="interference",
                implementation="stressor",
                folder="",
                facts=(started or self._started).model_dump(mode="json"),
            )
        )

    @staticmethod
    def findings(machines: Sequence[Machine]) -> list[Finding]:
        """What machines lack for stressors."""

        def look(machine: Machine) -> list[Finding]:
            try:
                facts = machine.facts([PROGRAM])
            except LoadstoneError as error:
                return [Finding("interference", "error", str(error))]
            found = []
            if PROGRAM not in facts.tools:
                remedy = f"sudo apt-get install -y {PROGRAM} on {machine.name}"
                found.append(Finding("interference", "error", f"{machine.name}: {PROGRAM} is not installed", remedy))
            if facts.unlimited_because:
                message = f"{machine.name}: a stressor can have no control group of its own: {facts.unlimited_because}"
                found.append(
                    Finding("interference", "error", message, "log in there as root, or leave interference out")
                )
            return found

        return [finding for found in in_parallel(look, machines) for finding in found]

    @classmethod
    def undo(cls, entry: journal.JournalEntry) -> list[str]:
        """Remove the stressors of a journal entry, also of another process."""
        started = _Started.model_validate(entry.facts)
        _each_machine(lambda part: _machine(part).end(started.name), started.parts)
        journal.forget(entry.name)
        return [f"{entry.name} (stressors on {', '.join(part.node.name for part in started.parts)})"]


def _each_machine(act: Callable[[_Part], object], parts: Sequence[_Part]) -> None:
    """Once for each machine: nodes may share one."""
    reaches = {part.node.reach.model_dump_json(): part for part in parts}
    in_parallel(act, list(reaches.values()))


def _machine(part: _Part) -> Machine:
    return connect(part.node.name, part.node.reach)


def _report(folder: str, node: Node) -> str:
    return f"{folder}/{node.name}.yaml"


def _process(part: _Part, name: str) -> NodeProcess:
    found = _machine(part).deployment(name)
    processes = {process.name: process for process in found.processes} if found is not None else {}
    if part.node.name not in processes:
        raise DeploymentError("it is gone from its machine")
    return processes[part.node.name]


def _last_line(part: _Part, name: str) -> str:
    lines = _machine(part).log(name, part.node.name, 1).strip().splitlines()
    return lines[-1] if lines else "it wrote nothing"


def _operations(part: _Part) -> tuple[int, float] | None:
    """Bogo operations of its life, and of a second of it, by its report."""
    try:
        report = yaml.safe_load(_machine(part).get(_report(part.folder, part.node)))
        [metrics] = report["metrics"]
        return int(metrics["bogo-ops"]), float(metrics["bogo-ops-per-second-real-time"])
    except (LoadstoneError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return None  # it was killed
