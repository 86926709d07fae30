"""The hosts of the treatment that runs, tuned as it wants them, and back as they were when it ends."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterable, Sequence

from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan
from loadstone.infrastructure import tuning
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import MachineLost, connect, this_machine
from loadstone.infrastructure.tuning import Tunable
from loadstone.model.base import plural
from loadstone.model.cluster import Node, Reach
from loadstone.model.errors import LoadstoneError, PreflightError
from loadstone.model.records.node.tuning import KnobChange, KnobValues, Restored
from loadstone.model.trial import Treatment
from loadstone.model.tuning import Tuning


class Tuner:
    """Keeps one tuning at a time, the same on all machines. Each starts from hosts as they were before the study."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._lock = threading.Lock()
        self._touched: tuple[Tunable, ...] = ()
        self._tuning: Tuning | None = None
        self.changes: dict[str, tuple[KnobChange, ...]] = {}
        """What is set now, by machine."""

    def keeps_cores(self, wanted: Tuning | None) -> bool:
        """Whether the same cores are there with another tuning, so that nodes stay what they are."""
        before, after = (tuning.smt if tuning is not None else None for tuning in (self._tuning, wanted))
        return before == after

    def tune(self, wanted: Tuning | None, machines: Sequence[Tunable]) -> None:
        """Set what a treatment wants. Where a machine does not take it, all are as before.

        Raises PreflightError; DeploymentError where machines are lost.
        """
        kernels = tuning.distinct(machines) if wanted is not None else ()
        if wanted == self._tuning and kernels == self._touched:
            return
        self.release()
        if wanted is None:
            return
        self._touched = kernels
        values = tuning.knob_values(wanted)
        try:
            changes, errors = tuning.on_each(
                kernels, lambda machine: machine.tune(values, _command(), self._announce(machine))
            )
        except BaseException:
            self.release()
            raise
        if errors:
            self._touched = tuple(machine for machine in kernels if machine.name in changes)
            self._give_up(errors)
        self.changes, self._tuning = changes, wanted
        for name, made in changes.items():
            self._note_refused(name, made)

    def release(self) -> None:
        """Set every machine back, also what an interruption left half done. Raises PreflightError where one is not.

        A machine that is lost is only noted: its node sets it back when it notices that its channel has ended.
        """
        if not self._touched:
            return
        try:
            if self._tuning is not None:
                self._listener.step("restoring hosts")
        finally:  # whatever a listener raises
            self._tuning, self.changes = None, {}
            _, errors = tuning.on_each(self._touched, lambda machine: machine.restore())
        for lost in (error for error in errors if isinstance(error, MachineLost)):
            self._listener.note(
                f"{lost}; it restores its settings when it notices; `loadstone restore STUDY` verifies them"
            )
        if left := [str(error) for error in errors if not isinstance(error, MachineLost)]:
            raise PreflightError("\n".join(left))
        self._touched = ()

    def problems(self) -> list[str]:
        """What is no longer as it was set, as sentences: a trial of this tuning was of another one."""
        if self._tuning is None:
            return []
        differing, errors = tuning.on_each(self._touched, lambda machine: machine.verify())
        changed = [
            f"{name}: tuning.{each.knob}: {each.file} was set to {each.set}, but is {each.found} now"
            for name, differences in differing.items()
            for each in differences
            if each.found  # an interrupt whose device went has no value any more
        ]
        return [*changed, *map(str, errors)]

    def _give_up(self, errors: list[LoadstoneError]) -> None:
        try:
            self.release()
        except PreflightError as error:
            errors = [*errors, error]
        raise tuning.failure(errors)

    def _announce(self, machine: Tunable) -> Callable[[str], None]:
        def announce(knob: str) -> None:
            with self._lock:
                self._listener.step(f"tuning {machine.name}: {knob}")

        return announce

    def _note_refused(self, name: str, changes: tuple[KnobChange, ...]) -> None:
        for knob in dict.fromkeys(change.knob for change in changes if change.refused):
            left = [change for change in changes if change.refused and change.knob == knob]
            first = f"{left[0].file}{f' and {len(left) - 1} more' if len(left) > 1 else ''}"
            self._listener.note(f"{name}: tuning.{knob}: the kernel does not release {first}; left unchanged")


def machines_of(nodes: Iterable[Node]) -> tuple[list[Tunable], list[str]]:
    """The machines of nodes, and the names of nodes to which no channel leads. Those of guests are this machine's."""
    return machines_at((node.name, node.kernel_reach) for node in nodes)


def machines_at(reaches: Iterable[tuple[str, Reach]]) -> tuple[list[Tunable], list[str]]:
    """The machines that are reached so, and the names of those to which no channel leads.

    Emulated hosts may not be made yet, and have the kernel of this machine. Machines that are yet to be made are left
    out.
    """
    machines: dict[str, Tunable] = {}
    far = []
    for name, reach in reaches:
        if reach.planned:
            continue
        if reach.through_cluster:  # a container that may change nothing
            far.append(name)
            continue
        machine: Tunable = this_machine() if reach.local else connect(name, reach)
        machines.setdefault(machine.name, machine)
    return list(machines.values()), far


def recover(machines: Sequence[Tunable]) -> tuple[dict[str, Restored], list[LoadstoneError]]:
    """Set back what killed runs left, by machine, and why others could not be: lost, or tuned by another run."""
    kernels, lost = tuning.reached(machines)
    restored, errors = tuning.on_each(kernels, lambda machine: machine.restore())
    return {name: found for name, found in restored.items() if found is not None}, [*lost, *errors]


def sentence(name: str, restored: Restored) -> str:
    """What was set back on a machine."""
    owner = f"process {restored.owner.pid} ({restored.owner.command})"
    if restored.restarted:
        return f"{name} was rebooted since {owner} tuned it: its values are the kernel's defaults again"
    return f"{owner} left {name} tuned: {plural(len(restored.values), 'value')} restored and verified"


def findings(treatment: Treatment, nodes: Sequence[Node]) -> list[Finding]:
    """What of a treatment's tuning cannot be done on the machines of its nodes."""
    wanted = treatment.settings.tuning
    if wanted is None:
        return []
    machines, far = machines_of(nodes)
    if far:
        message = f"{', '.join(far)}: these machines cannot be reached, so their settings cannot be changed"
        return [Finding("tuning", "error", message, "remove tuning, or use an infrastructure that reaches its nodes")]
    found, errors = tuning.on_each(tuning.distinct(machines), lambda machine: tuning.preflight(wanted, machine))
    lost = [Finding("tuning", "error", str(error)) for error in errors]
    return [*named(found), *lost]


def conditions(plan: Plan, nodes: Sequence[Node]) -> list[Finding]:
    """What can be set on the machines of nodes, and what of them disturbs that the plan does not set anyway."""

    def look(machine: Tunable) -> list[Finding]:
        found = machine.knobs(KnobValues())
        return [tuning.inventory(found), *tuning.disturbances(found.conditions, settled(plan.treatments))]

    found, errors = tuning.on_each(tuning.distinct(machines_of(nodes)[0]), look)
    return [*named(found), *(Finding("tuning", "error", str(error)) for error in errors)]


def named(found: dict[str, list[Finding]]) -> list[Finding]:
    """Findings by machine in one list: with the machine's name where there are several."""
    if len(found) == 1:
        return next(iter(found.values()))
    return [
        Finding(f"{name}: {finding.what}", finding.level, finding.message, finding.remedy)
        for name, findings_ in found.items()
        for finding in findings_
    ]


def settled(treatments: Iterable[Treatment]) -> frozenset[str]:
    """The knobs that all treatments set."""
    given = [
        set(treatment.settings.tuning.model_dump(exclude_none=True)) if treatment.settings.tuning is not None else set()
        for treatment in treatments
    ]
    return frozenset(set.intersection(*given))


def _command() -> str:
    """This run, as the journals of hosts name it."""
    return f"{' '.join(['loadstone', *sys.argv[1:]])} on {socket.gethostname()}"
