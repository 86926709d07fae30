"""All knobs, in the order in which they are set and set back."""

from __future__ import annotations

from typing import Any

from loadstone.infrastructure.tuning.base import Knob
from loadstone.infrastructure.tuning.frequencies import Frequency, Uncore
from loadstone.infrastructure.tuning.governors import Governor
from loadstone.infrastructure.tuning.idle import CStates
from loadstone.infrastructure.tuning.interrupts import Interrupts
from loadstone.infrastructure.tuning.memory import HugePages, NumaBalancing, Swap
from loadstone.infrastructure.tuning.processors import Smt, Turbo
from loadstone.model.tuning import Tuning

KNOBS: tuple[Knob, ...] = (
    Smt(),
    Turbo(),
    Governor(),
    Frequency(),
    CStates(),
    Uncore(),
    HugePages(),
    NumaBalancing(),
    Swap(),
    Interrupts(),
)
"""A knob comes before those that it disturbs."""


def asked(tuning: Tuning) -> list[tuple[Knob, Any]]:
    """The knobs that a study sets, each with its value."""
    return [(knob, value) for knob in KNOBS if (value := getattr(tuning, knob.key)) is not None]


def touched(tuning: Tuning) -> list[Knob]:
    """The knobs whose values may be others afterwards: those that are set, and what they disturb."""
    keys = {key for knob, _ in asked(tuning) for key in (knob.key, *knob.disturbs)}
    return [knob for knob in KNOBS if knob.key in keys]
