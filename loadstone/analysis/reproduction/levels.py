"""A numeric factor: levels that are amounts of one thing, such as ``0.05ms`` or ``400``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadstone.analysis.summary import TreatmentSummary
from loadstone.model import units

_AMOUNT = re.compile(r"(?:[^=,]*[=:])?\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)")
_IN_US = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
_KINDS = (units.file_size.units, units.bit_rate.units, units.frequency.units)
"""Units of one kind each, by name: bytes, bits, hertz."""


@dataclass(frozen=True)
class Level:
    """A treatment's level of the factor: durations in us, others in the smallest unit of the factor's levels."""

    treatment: TreatmentSummary
    factor: str
    amount: float
    unit: str
    beside: str
    """The levels of all other factors."""

    @property
    def text(self) -> str:
        return self.treatment.levels[self.factor]


def amount(level: str) -> tuple[float, str] | None:
    """The number and the unit of a level, ``payment:sleep=0.05ms`` for one; None of what is no single amount."""
    found = _AMOUNT.fullmatch(level)
    if found is None:
        return None
    number, unit = float(found[1]), found[2]
    return (number * _IN_US[unit], "us") if unit in _IN_US else (number, unit)


def numeric(treatments: Sequence[TreatmentSummary]) -> list[list[Level]]:
    """The treatments by the levels of all factors but the first that is numeric; none where no factor is."""
    factors = dict.fromkeys(name for treatment in treatments for name in treatment.levels)
    for factor in factors:
        amounts = {level: amount(level) for level in _of(factor, treatments)}
        known = _in_one_unit({level: found for level, found in amounts.items() if found is not None})
        if len(known) != len(amounts) or len(set(known.values())) < 2:
            continue
        groups: dict[str, list[Level]] = {}
        for treatment in treatments:
            if factor in treatment.levels:
                beside = ", ".join(f"{name}={level}" for name, level in treatment.levels.items() if name != factor)
                groups.setdefault(beside, []).append(Level(treatment, factor, *known[treatment.levels[factor]], beside))
        return list(groups.values())
    return []


def _in_one_unit(amounts: dict[str, tuple[float, str]]) -> dict[str, tuple[float, str]]:
    """The amounts by level in the smallest unit that occurs; none where units are of several kinds."""
    there = {unit for _, unit in amounts.values()}
    if len(there) <= 1:
        return amounts
    for kind in _KINDS:
        if there <= kind.keys():
            smallest = min(there, key=lambda unit: kind[unit])
            return {
                level: (number * kind[unit] / kind[smallest], smallest) for level, (number, unit) in amounts.items()
            }
    return {}


def _of(factor: str, treatments: Iterable[TreatmentSummary]) -> list[str]:
    return list(dict.fromkeys(treatment.levels[factor] for treatment in treatments if factor in treatment.levels))
