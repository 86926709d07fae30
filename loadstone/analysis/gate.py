"""Gates of a build: does a result certainly lie on the wrong side of a limit? Pure functions of estimates.

Noise must not fail a build: a gate fails only where the whole 95 % interval lies on the wrong side of its limit. Where
the interval contains the limit, the answer is ``cannot tell``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from loadstone.model.errors import InputError

if TYPE_CHECKING:  # slow imports; a limit is read before a study starts
    from loadstone.analysis.comparison import Compared
    from loadstone.analysis.summary import TreatmentSummary

Answer = Literal["passed", "failed", "cannot tell"]
Quantity = Literal["capacity", "breaking point", "p50", "p99"]
_QUANTITIES: dict[str, Quantity] = {"capacity": "capacity", "breaking-point": "breaking point"}
_FEWEST = 3
"""A search in which no trial held has no estimate; with so many trials at or below the limit, the gate fails. So it
does with so many trials that have no latency, as too few of their requests were answered well."""


@dataclass(frozen=True)
class Limit:
    """The least that a quantity of each treatment may be, in requests/s: ``capacity >= 1200``."""

    quantity: Quantity
    least: float


@dataclass(frozen=True)
class Gated:
    """One result beside its limit: in requests/s, or where it is ``relative``, as a multiple of the baseline's."""

    treatment: str
    quantity: Quantity
    load: float | None
    """The load of a latency, in requests/s."""
    value: float | None
    """None where nothing is estimated."""
    low: float | None
    high: float | None
    limit: float
    is_least: bool
    """Whether the limit is the least that is allowed, rather than the most."""
    relative: bool
    answer: Answer


def parse(text: str) -> Limit:
    """The limit of ``capacity >= 1200`` or ``breaking-point >= 1500``. Raises InputError for anything else."""
    match = re.fullmatch(r"\s*([a-z-]+)\s*>=\s*(\d+(?:\.\d+)?)\s*", text)
    if match is None or match[1] not in _QUANTITIES or not float(match[2]):
        known = " or ".join(f"'{name} >= 1200'" for name in _QUANTITIES)
        raise InputError(f"--gate {text!r}: expected {known}, in requests per second")
    return Limit(_QUANTITIES[match[1]], float(match[2]))


def limits(treatments: Sequence[TreatmentSummary], wanted: Sequence[Limit]) -> list[Gated]:
    """Every treatment that was searched beside every limit."""
    return [_limit(treatment, limit) for treatment in treatments for limit in wanted]


def regressions(found: Compared, most: float) -> list[Gated]:
    """Breaking points and the latencies of all requests, beside a loss of ``most`` (0.05: 5 %) against the baseline."""
    return [*_lost(found, most), *_longer(found, most)]


def answer(low: float, high: float, limit: float, is_least: bool) -> Answer:
    """The answer for an interval beside its limit."""
    if low >= limit if is_least else high <= limit:
        return "passed"
    return "failed" if (high < limit if is_least else low > limit) else "cannot tell"


def _limit(treatment: TreatmentSummary, limit: Limit) -> Gated:
    searched = treatment.searched if treatment.timed else None
    beside = partial(Gated, treatment.label, limit.quantity, None, limit=limit.least, is_least=True, relative=False)
    if searched is None or searched.result is None:
        low, high = (searched.low, searched.high) if searched is not None else (None, None)
        return beside(None, low, high, answer="failed" if _collapsed(treatment, limit) else "cannot tell")
    found = searched.result.capacity if limit.quantity == "capacity" else searched.result.breaking_point
    certain = searched.confirmed is not False
    verdict = answer(found.low, found.high, limit.least, True) if certain else "cannot tell"
    return beside(found.value, found.low, found.high, answer=verdict)


def _collapsed(treatment: TreatmentSummary, limit: Limit) -> bool:
    """Whether no trial held, and several of them were at or below the limit."""
    broke = [row for row in treatment.rows("not held") if row.rate <= limit.least]
    return treatment.timed and not treatment.rows("held") and len(broke) >= _FEWEST


def _lost(found: Compared, most: float) -> Iterator[Gated]:
    for row in found.capacities:
        verdict = answer(row.low, row.high, 1 - most, True)
        yield Gated(row.treatment, "breaking point", None, row.ratio, row.low, row.high, 1 - most, True, True, verdict)
    for each in found.unestimated:
        lost = each.least is not None and sum(load <= (1 - most) * each.least for load in each.broke) >= _FEWEST
        verdict = "failed" if lost else "cannot tell"
        yield Gated(each.treatment, "breaking point", None, None, None, None, 1 - most, True, True, verdict)


def _longer(found: Compared, most: float) -> Iterator[Gated]:
    """A latency fails only where it is also longer after all tests of its family were accounted for; one that no trial
    of the treatment has, where what it exceeds is too long."""
    unmeasured = {(each.treatment, each.load, each.statistic) for each in found.unmeasured}
    for row in found.effects:
        if row.scope != "requests" or (row.treatment, row.load, row.statistic) in unmeasured:
            continue
        verdict = answer(row.low, row.high, 1 + most, False)
        if verdict == "failed" and row.verdict != "slower":
            verdict = "cannot tell"
        quantity = _quantity(row.statistic)
        yield Gated(row.treatment, quantity, row.load, row.ratio, row.low, row.high, 1 + most, False, True, verdict)
    for each in found.unmeasured:
        too_long = sum(bound > (1 + most) * each.longest for bound in each.exceeds)
        verdict = "failed" if too_long >= _FEWEST and too_long == len(each.exceeds) else "cannot tell"
        quantity = _quantity(each.statistic)
        yield Gated(each.treatment, quantity, each.load, None, None, None, 1 + most, False, True, verdict)


def _quantity(statistic: str) -> Quantity:
    return "p50" if statistic == "p50" else "p99"
