"""A machine whose knobs are texts in a dictionary, and that refuses given ones."""

from __future__ import annotations

from collections.abc import Callable

from loadstone.infrastructure.machines import MachineLost
from loadstone.model.errors import LoadstoneError, PreflightError
from loadstone.model.records.node.tuning import (
    Conditions,
    Difference,
    Knob,
    KnobChange,
    KnobProblem,
    KnobsAnswer,
    KnobValues,
    Restored,
    SetBack,
    TuningOwner,
)

QUIET = Conditions(
    governors=("performance",),
    turbo=False,
    hardware_threads=False,
    huge_pages="madvise",
    swap=(),
    irqbalance=False,
    stolen=None,
    missing=(),
)
SERVER = QUIET.model_copy(
    update={
        "governors": ("powersave",),
        "turbo": True,
        "hardware_threads": True,
        "huge_pages": "always",
        "swap": ("/dev/sda2",),
        "irqbalance": True,
    }
)
AT_FIRST = {"smt": "on", "governor": "powersave", "thp": "always", "irqs": "0-3", "uncore": "2.4GHz"}


class FakeMachine:
    """``refuses`` are knobs that it does not take, ``keeps`` such whose value the kernel silently leaves as it is."""

    def __init__(self, name: str = "here", boot: str = "boot") -> None:
        self.name = name
        self.boot = boot
        self.now = dict(AT_FIRST)
        self.refuses: dict[str, LoadstoneError] = {}
        self.keeps: set[str] = set()
        self.conditions = SERVER
        self.left: TuningOwner | None = None
        self.stuck = ""
        """Why it cannot be set back."""
        self.lost = False
        self.requests: list[str] = []
        self._set: dict[str, str] = {}

    def tune(self, values: KnobValues, command: str, say: Callable[[str], None]) -> tuple[KnobChange, ...]:
        self.requests.append("tune")
        changes = []
        for knob, value in values.model_dump(exclude_none=True).items():
            say(knob)
            if knob in self.refuses:
                self.now = dict(AT_FIRST)
                raise self.refuses[knob]
            refused = "Input/output error" if knob in self.keeps else ""
            wanted = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
            changes.append(
                KnobChange(knob=knob, file=f"/sys/{knob}", before=self.now[knob], set=wanted, refused=refused)
            )
            self.now[knob] = self.now[knob] if refused else wanted
        self._set = {change.knob: change.set for change in changes if not change.refused}
        self.left = TuningOwner(pid=1, started=1, command=command)
        return tuple(changes)

    def verify(self) -> tuple[Difference, ...]:
        self._answer()
        return tuple(
            Difference(knob=knob, file=f"/sys/{knob}", set=value, found=self.now[knob])
            for knob, value in self._set.items()
            if self.now[knob] != value
        )

    def restore(self) -> Restored | None:
        self._answer()
        self.requests.append("restore")
        if self.stuck:
            raise PreflightError(f"{self.name}: {self.stuck}")
        if self.left is None:
            return None
        values = [
            SetBack(file=f"/sys/{knob}", found=self.now[knob], before=before)
            for knob, before in AT_FIRST.items()
            if self.now[knob] != before
        ]
        restored = Restored(owner=self.left, restarted=False, values=tuple(values))
        self.now, self.left, self._set = dict(AT_FIRST), None, {}
        return restored

    def knobs(self, values: KnobValues) -> KnobsAnswer:
        problems = [
            KnobProblem(knob=knob, kind="missing", message=f"this machine has no {knob}", remedy="leave it out")
            for knob in values.model_dump(exclude_none=True)
            if knob not in AT_FIRST
        ]
        known = tuple(Knob(knob=knob, offers="on, off") for knob in AT_FIRST)
        return KnobsAnswer(knobs=known, problems=tuple(problems), conditions=self.conditions)

    def _answer(self) -> None:
        if self.lost:
            raise MachineLost(f"{self.name}: its node has ended")
