"""What each run came to: one number per run and endpoint, from the trials' rows, their summaries and their traces."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from loadstone.analysis import trace_cache
from loadstone.analysis.run import RunFolder
from loadstone.model.records.trial_row import TrialRow

Scope = Literal["requests", "operations", "spans"]
SCOPES: tuple[Scope, ...] = ("requests", "operations", "spans")
"""What is compared, in this order."""
STATISTICS = {"p50": 10, "p99": 100}
"""The endpoints, with the requests below which a run has none: the P99 of 50 requests is their maximum."""
ALL = "all requests"


class Key(NamedTuple):
    """An endpoint: ``operations``, ``hotels``, ``p99``."""

    scope: Scope
    name: str
    statistic: str

    @property
    def chosen_as(self) -> str:
        """What ``report.spans`` calls it: ``service operation`` of a span."""
        return self.name.replace(": ", " ", 1) if self.scope == "spans" else self.name


@dataclass(frozen=True)
class MeasuredRun:
    """A run at one load that may be compared. ``block`` is its repetition; ``again`` the baseline's second in it."""

    trial_id: str
    treatment: str
    load: float
    clients: int | None
    block: int
    again: bool
    order: int
    values: dict[Key, float]
    """Milliseconds by endpoint."""


def usable(row: TrialRow) -> bool:
    """Whether a trial at a fixed load measured latency: it is valid, was not stopped early, and its processors were no
    software."""
    return row.valid and row.timed and not row.stopped and row.repeatable and bool(row.p50_ms)


def measured(run: RunFolder, rows: Sequence[TrialRow], spans: bool = True) -> list[MeasuredRun]:
    """All usable runs in the order in which they ran; ``spans`` also looks into their traces, where there are any."""
    return [
        MeasuredRun(
            trial_id=row.trial_id,
            treatment=row.treatment,
            load=row.load,
            clients=row.clients,
            block=row.repetition,
            again=row.number > 1,
            order=row.order,
            values=dict(_values(run, row, spans)),
        )
        for row in rows
        if usable(row)
    ]


def _values(run: RunFolder, row: TrialRow, spans: bool) -> Iterator[tuple[Key, float]]:
    yield from _of("requests", ALL, row.completed or row.offered, {"p50": row.p50_ms, "p99": row.p99_ms})
    summary = run.summary(row.trial_id)
    operations = summary.operations if summary is not None else ()
    for operation in operations if len(operations) > 1 else ():
        counted = operation.latency_ms.counted(row.clients)
        if counted is not None:
            yield from _of("operations", operation.name, counted.count, {"p50": counted.p50, "p99": counted.p99})
    for span in trace_cache.operations(run, row.trial_id) if spans else ():
        to = f" to {span.peer}" if span.peer else ""
        name = f"{span.service}{to}: {span.operation}"
        yield from _of("spans", name, span.count, {"p50": span.total_p50_ms, "p99": span.total_p99_ms})


def _of(scope: Scope, name: str, count: int | None, values: Mapping[str, float | None]) -> Iterator[tuple[Key, float]]:
    for statistic, fewest in STATISTICS.items():
        value = values[statistic]
        if value is not None and 0 < value < math.inf and (count or 0) >= fewest:
            yield Key(scope, name, statistic), float(value)


def endpoints(runs: Sequence[MeasuredRun]) -> list[Key]:
    """The endpoints that every run has, all requests first."""
    if not runs:
        return []
    shared = set.intersection(*(set(run.values) for run in runs))
    return sorted((key for key in runs[0].values if key in shared), key=lambda key: SCOPES.index(key.scope))


def families(runs: Sequence[MeasuredRun], chosen: Collection[str] = ()) -> list[list[Key]]:
    """The endpoints that every run has, by the tests that are corrected together.

    Each scope is a family, so that tests of all requests are not corrected for those of many spans. What the study
    chose beforehand (``report.spans``) is one of its own, whatever else was traced.
    """
    keys = endpoints(runs)
    of_choice = [key for key in keys if key.scope != "requests" and key.chosen_as in chosen]
    of_scopes = [[key for key in keys if key.scope == scope and key not in of_choice] for scope in SCOPES]
    return [family for family in (of_scopes[0], of_choice, *of_scopes[1:]) if family]
