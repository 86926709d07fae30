"""The stressor of one node: spawned, looked at, interrupted."""

from __future__ import annotations

from loadstone.infrastructure.machines import Machine, connect
from loadstone.infrastructure.stressors import program
from loadstone.infrastructure.stressors.program import Operations
from loadstone.model.base import Model
from loadstone.model.cluster import Node
from loadstone.model.errors import DeploymentError, LoadstoneError
from loadstone.model.interference import Stressor
from loadstone.model.records.node.deployments import NodeLimits, NodeProcess, SpawnArgs
from loadstone.model.records.node.replicas import Standing, Subject

_GRACE_S = 10.0
"""It removes its files and writes its metrics."""


class StressorPart(Model):
    """The way to the node and, once its machine's journal has the stressor, its folder and control group.

    ``name`` is what the machine's journal calls the stressors of a trial.
    """

    node: Node
    folder: str = ""
    group: str | None = None

    @property
    def machine(self) -> Machine:
        """Which the node is on."""
        return connect(self.node.name, self.node.reach)

    def command(self, stressor: Stressor) -> tuple[str, ...]:
        """Its command line."""
        return program.arguments(stressor, self.folder, self._report)

    def spawned(self, name: str, stressor: Stressor, owner: str) -> StressorPart:
        """Spawn it. Raises DeploymentError."""
        node, machine = self.node, self.machine
        begun = machine.begin(name, str(stressor), owner)
        part = self.model_copy(update={"folder": begun.folder, "group": begun.group})
        limits = NodeLimits(cpu=stressor.limits.cpu, memory=stressor.limits.memory, cores=tuple(node.cpus))
        argv = part.command(stressor)
        machine.spawn(SpawnArgs(deployment=name, name=node.name, argv=argv, folder=part.folder, limits=limits))
        return part

    def read(self) -> Standing:
        """What it has used until now; nothing of a machine that does not answer."""
        subject = Subject(group=f"{self.group}/{self.node.name}")
        try:
            return self.machine.read(["usage", "io", "events"], {self.node.name: subject})[self.node.name]
        except LoadstoneError as error:
            return Standing.nothing(str(error))

    def problem(self, name: str, stressor: Stressor, standing: Standing) -> str:
        """Why it does not work, as a sentence; empty if it does."""
        what, usage = f"stressor {stressor.stressor} on {self.node.name}", standing.usage
        try:
            process = self._process(name)
        except LoadstoneError as error:
            return f"{what}: {error}"
        if usage is not None and usage.oom_kills:
            return f"{what} ran out of memory and was killed; raise interference.limits.memory"
        if not process.alive:
            how = f"was killed by SIG{process.signal.removeprefix('SIG')}" if process.signal else "ended by itself"
            return f"{what} {how}: {self._last_line(name)}"
        if usage is None:
            return f"{what}: its workers cannot be counted, as its control group cannot be read"
        if usage.pids <= stressor.workers:
            return f"{what} has {max(0, usage.pids - 1)} of {stressor.workers} workers"
        return ""

    def interrupt(self, name: str) -> Operations | None:
        """Have it end; what it reports then, None where it was killed before."""
        self.machine.stop(name, [self.node.name], "INT", _GRACE_S)
        try:
            return program.operations(self.machine.get(self._report))
        except LoadstoneError:
            return None

    @property
    def _report(self) -> str:
        return f"{self.folder}/{self.node.name}.yaml"

    def _process(self, name: str) -> NodeProcess:
        found = self.machine.deployment(name)
        processes = {process.name: process for process in found.processes} if found is not None else {}
        if self.node.name not in processes:
            raise DeploymentError("it is gone from its machine")
        return processes[self.node.name]

    def _last_line(self, name: str) -> str:
        lines = self.machine.log(name, self.node.name, 1).strip().splitlines()
        return lines[-1] if lines else "it wrote nothing"
