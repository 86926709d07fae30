"""The best and the worst placement, and how sure it is that they differ.

They are picked from all placements after all were seen, so their difference is judged as one of all pairs: the interval
of their ratio is at 1 - 5 % / pairs (Bonferroni), and an interval that contains 1 shows no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.analysis.grouping import grouped
from loadstone.analysis.placement.tables import FACTOR, PlacementCapacity, PlacementLoad, others, valid
from loadstone.analysis.statistics import Endpoint, compare
from loadstone.analysis.summary import TreatmentSummary

NOTHING_DROPPED = 0.01
"""A load at which no placement dropped more than this share is one that all of them bear."""
_ALPHA = 0.05
_MARGIN = 0.02


@dataclass(frozen=True)
class Fastest:
    """By P99 at one load that all placements were measured at. ``best`` and ``worst`` are rows of ``Tables.loads``."""

    others: str
    load: float
    best: PlacementLoad
    worst: PlacementLoad
    placements: int
    ratio: float | None
    """The ratio of their P99, worst to best, with its interval; None where there is a single trial, which has no
    spread."""
    low: float | None
    high: float | None

    @property
    def differ(self) -> bool:
        """Whether the worst is surely slower than the best."""
        return self.low is not None and self.low > 1


@dataclass(frozen=True)
class Extremes:
    """By capacity, requests/s. ``best`` and ``worst`` are rows of ``Tables.capacities``."""

    others: str
    best: PlacementCapacity
    worst: PlacementCapacity
    placements: int
    """How many have a known capacity."""
    unknown: int
    """How many have none: one of these may be the best or the worst."""

    @property
    def differ(self) -> bool:
        """Whether their 95 % intervals have no load in common."""
        return (self.worst.capacity_high or 0.0) < (self.best.capacity_low or 0.0)


def extremes(
    treatments: Sequence[TreatmentSummary],
    loads: Sequence[PlacementLoad],
    capacities: Sequence[PlacementCapacity],
    interleaved: bool,
) -> Iterator[Fastest | Extremes]:
    """For each combination of other factors: by latency at the highest load that all bear, and by capacity.

    ``interleaved``: trials of equal repetition were run in one block, so they are paired.
    """
    groups = [*(row.others for row in loads), *(row.others for row in capacities)]
    for group in dict.fromkeys(groups):
        mine = [row for row in loads if row.others == group]
        if (load := reference(mine)) is not None:
            at = [row for row in mine if row.load == load]
            alike = [treatment for treatment in treatments if FACTOR in treatment.levels and others(treatment) == group]
            yield _fastest(group, load, at, alike, interleaved)
        every = [row for row in capacities if row.others == group]
        known = [row for row in every if row.capacity is not None]
        if len(known) > 1:
            ordered = sorted(known, key=lambda row: row.capacity or 0.0)
            yield Extremes(group, ordered[-1], ordered[0], len(known), len(every) - len(known))


def reference(rows: Sequence[PlacementLoad]) -> float | None:
    """The highest load that all placements were measured at and none dropped at, else the lowest; None for one only."""
    placements = {row.placement for row in rows}
    by_load = grouped((row for row in rows if row.p99_ms is not None), lambda row: row.load)
    shared = {load: some for load, some in by_load.items() if len(some) == len(placements)}
    if len(placements) < 2 or not shared:
        return None
    borne = [load for load, some in shared.items() if all((row.dropped_share or 0) <= NOTHING_DROPPED for row in some)]
    return max(borne) if borne else min(shared)


def _fastest(
    group: str,
    load: float,
    rows: Sequence[PlacementLoad],
    treatments: Sequence[TreatmentSummary],
    interleaved: bool,
) -> Fastest:
    ordered = sorted(rows, key=lambda row: row.p99_ms or 0.0)
    best, worst = ordered[0], ordered[-1]
    a, b = (_values(treatments, row.placement, load) for row in (best, worst))
    paired = interleaved and list(a) == list(b)
    pairs = len(rows) * (len(rows) - 1) // 2
    ratio: tuple[float, float, float] | None = None
    if min(len(a), len(b)) > 1 and min(*a.values(), *b.values()) > 0:
        (found,) = compare(
            [Endpoint("all", "p99", list(a.values()), list(b.values()), paired)], _MARGIN, _ALPHA / pairs
        )
        ratio = (found.effect.ratio, found.effect.low, found.effect.high)
    return Fastest(group, load, best, worst, len(rows), *(ratio or (None, None, None)))


def _values(treatments: Sequence[TreatmentSummary], placement: str, load: float) -> dict[tuple[int, int], float]:
    """P99 by repetition and number."""
    mine = next(treatment for treatment in treatments if treatment.levels[FACTOR] == placement)
    at = sorted((row for row in valid(mine) if row.load == load), key=lambda row: (row.repetition, row.number))
    return {(row.repetition, row.number): row.p99_ms for row in at if row.p99_ms is not None}
