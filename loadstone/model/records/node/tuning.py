"""What the desk and ``stone node`` send each other about a host's knobs. Frequencies are in Hz, times in seconds."""

from __future__ import annotations

from typing import Literal

from loadstone.model.base import Model


class KnobBounds(Model):
    """A lowest and a highest frequency; None leaves that end as it is."""

    min: int | None = None
    max: int | None = None


class KnobStates(Model):
    """The idle states that may be entered: by name, or by the longest exit latency."""

    names: tuple[str, ...] | None = None
    latency: float | None = None


class KnobValues(Model):
    """What a study sets (``model.tuning.Tuning``), without units; None is not changed."""

    governor: str | None = None
    frequency: KnobBounds | None = None
    turbo: str | None = None
    smt: str | None = None
    cstates: KnobStates | None = None
    uncore: KnobBounds | None = None
    swap: str | None = None
    thp: str | None = None
    numa_balancing: str | None = None
    irqs: tuple[int, ...] | None = None


class TuneArgs(Model):
    """``tune``: its events are ``{"knob": ...}``, as each is set. ``command`` names the desk's process, for people."""

    tuning: KnobValues
    command: str


class KnobChange(Model):
    """One value that was set, or why the kernel kept the one before."""

    knob: str
    file: str
    before: str
    set: str
    refused: str = ""


class TuneAnswer(Model):
    """All values that a tuning sets."""

    changes: tuple[KnobChange, ...]


class Difference(Model):
    """A value that is not as this channel has set it; ``found`` is empty where there is none any more."""

    knob: str
    file: str
    set: str
    found: str


class VerifyAnswer(Model):
    """``verify``: nothing differs, or this does."""

    differences: tuple[Difference, ...]


class TuningOwner(Model):
    """The node that tunes, by its process on that host, and the desk's command."""

    pid: int
    started: int
    command: str


class SetBack(Model):
    """One value that was set back."""

    file: str
    found: str
    before: str


class Restored(Model):
    """What was set back, for the process that had set it; none where the machine was restarted since."""

    owner: TuningOwner
    restarted: bool
    values: tuple[SetBack, ...]


class RestoreAnswer(Model):
    """``restore``: None where nothing was set."""

    restored: Restored | None


class TunedHost(Model):
    """The process that tuned a host, and whether it still runs."""

    owner: TuningOwner
    alive: bool
    restarted: bool
    tuning: KnobValues


class TunedAnswer(Model):
    """``tuned``: None where the host is not tuned."""

    tuned: TunedHost | None


class KnobsArgs(Model):
    """``knobs``: what of a tuning cannot be set; nothing is changed."""

    tuning: KnobValues = KnobValues()


class Knob(Model):
    """A knob that a host has, and what it can be set to, in words."""

    knob: str
    offers: str


class KnobProblem(Model):
    """A knob that a host lacks, or a value that it does not take."""

    knob: str
    kind: Literal["missing", "refused"]
    message: str
    remedy: str


class Conditions(Model):
    """What of a host disturbs a measurement, whatever is measured."""

    governors: tuple[str, ...]
    """In force, each once."""
    turbo: bool
    hardware_threads: bool
    """Two threads share a core."""
    huge_pages: str
    """Empty where there are none."""
    swap: tuple[str, ...]
    """Devices in use."""
    irqbalance: bool
    stolen: float | None
    """The share of a virtual machine's processor time that others took since it started; None on a real machine."""
    missing: tuple[Literal["cstates", "power", "frequencies"], ...]
    """Counters that its kernel does not show."""


class KnobsAnswer(Model):
    """What a host has, and what of a tuning it does not take."""

    knobs: tuple[Knob, ...]
    problems: tuple[KnobProblem, ...]
    conditions: Conditions
