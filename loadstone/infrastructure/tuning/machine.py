"""What tuning needs of a machine, and doing it on several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from loadstone.infrastructure.machines import MachineLost
from loadstone.model.errors import DeploymentError, LoadstoneError, PreflightError
from loadstone.model.records.node.tuning import Difference, KnobChange, KnobsAnswer, KnobValues, Restored
from loadstone.model.tuning import Tuning

Answer = TypeVar("Answer")


class Tunable(Protocol):
    """A machine with a kernel of its own, or one that shares it with others of the same ``boot``."""

    @property
    def name(self) -> str:
        """As messages call it."""

    @property
    def boot(self) -> str:
        """Id of the kernel's boot."""

    def tune(self, values: KnobValues, command: str, say: Callable[[str], None]) -> tuple[KnobChange, ...]:
        """Set knobs until ``restore`` or the channel's end; ``say`` receives each knob's name. All or nothing."""

    def verify(self) -> tuple[Difference, ...]:
        """What is not, or no longer, as it was set."""

    def restore(self) -> Restored | None:
        """Set back what we have set, or what a process that was killed left; None where nothing was set."""

    def knobs(self, values: KnobValues) -> KnobsAnswer:
        """What the machine has, and what of these values it does not take; changes nothing."""


def knob_values(tuning: Tuning) -> KnobValues:
    """A tuning without units, as nodes receive it."""
    return KnobValues.model_validate(tuning.model_dump(exclude_none=True))


def distinct(machines: Iterable[Tunable]) -> tuple[Tunable, ...]:
    """Each kernel once: emulated hosts share that of the machine that they are on. Raises ``failure``."""
    kernels, errors = reached(machines)
    if errors:
        raise failure(errors)
    return kernels


def reached(machines: Iterable[Tunable]) -> tuple[tuple[Tunable, ...], list[LoadstoneError]]:
    """Each kernel once of the machines that answer, and why the others do not."""
    machines = list(machines)
    boots, errors = on_each(machines, lambda machine: machine.boot)
    by_boot: dict[str, Tunable] = {}
    for machine in machines:
        if machine.name in boots:
            by_boot.setdefault(boots[machine.name], machine)
    return tuple(by_boot.values()), errors


def failure(errors: Sequence[LoadstoneError]) -> LoadstoneError:
    """One error for several machines: where these are lost it concerns a deployment, else the whole study."""
    lost = all(isinstance(error, MachineLost) for error in errors)
    message = "\n".join(dict.fromkeys(map(str, errors)))
    return DeploymentError(message) if lost else PreflightError(message)


def on_each(
    machines: Sequence[Tunable], work: Callable[[Tunable], Answer]
) -> tuple[dict[str, Answer], list[LoadstoneError]]:
    """Work on all machines in parallel, to the end on each: the answers by machine, and what went wrong."""
    answers: dict[str, Answer] = {}
    errors: list[LoadstoneError] = []
    with ThreadPoolExecutor(max(1, len(machines))) as pool:
        running = [(machine.name, pool.submit(work, machine)) for machine in machines]
    for name, future in running:
        try:
            answers[name] = future.result()
        except MachineLost as error:  # of a machine that was never reached it names the login only
            message = error.message.removeprefix(f"{name}: ")
            errors.append(MachineLost(f"{name}: {message}", error.remedy))
        except LoadstoneError as error:
            errors.append(error)
    return answers, errors
