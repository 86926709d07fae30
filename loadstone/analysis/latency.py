"""Latency and throughput against offered load, by operation, and over all percentiles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from loadstone.analysis.curves import dropped_share, unfinished_share
from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import all_known
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import OfTrial, TableRow
from loadstone.analysis.summary import TreatmentSummary
from loadstone.analysis.usage import highest_held
from loadstone.model.records.bounds import rounded_down
from loadstone.model.records.summary import Latency, TrialSummary
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.slo import Slo

SHARES = (0.5, 0.8, 0.95)
"""Shares of the breaking point at which the percentile spectrum is shown."""


class LoadPoint(OfTrial, name="load"):
    """A trial's latency, throughput and dropped share against its load; of one that was stopped early only its load."""

    load: float
    loop: str | None
    offered_per_s: float | None
    throughput: float | None
    p50_ms: float | None
    p75_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    max_ms: float | None
    latency_bound_ms: float | None
    """What percentiles exceed that are null, as too few requests were answered well."""
    service_p99_ms: float | None
    dropped_share: float | None
    verdict: str
    aborted_at_s: float | None


_PERCENTILES = ("p50_ms", "p75_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms")
_AS_MEASURED = ("loop", "throughput", *_PERCENTILES, "max_ms", "latency_bound_ms", "service_p99_ms", "aborted_at_s")
"""The columns of ``LoadPoint`` that are as in the trial's row."""


class RateRow(TableRow, name="rates"):
    """A treatment at a fixed load: verdicts, and medians over the repetitions that are valid."""

    treatment: str
    rate: float
    clients: int | None
    trials: int
    held: int
    not_held: int
    measured: int
    invalid: int
    throughput: float | None
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    p99_lowest_ms: float | None
    p99_highest_ms: float | None
    p999_ms: float | None
    latency_bound_ms: float | None
    """What medians exceed that are null, as too few requests were answered well in half of the trials; and the highest
    P99, in one."""
    dropped_share: float | None
    unfinished_share: float | None
    """The share of the requests scheduled in the window that had no good answer when it ended: as other tools count."""


class SpectrumPoint(OfTrial, name="spectrum"):
    """The latency at one percentile; ``share`` is the trial's load as a share of the breaking point."""

    verdict: str
    share: float
    percentile: float
    latency_ms: float | None
    service_ms: float | None


class OperationRow(OfTrial, name="operations"):
    """Counts and latency of one operation in one trial."""

    verdict: str
    operation: str
    offered: int | None
    completed: int
    dropped_share: float | None
    violations: int | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    max_ms: float | None
    latency_bound_ms: float | None
    """What percentiles exceed that are null, as too few requests were answered well."""
    service_p99_ms: float | None


def percentile_column(slo: Slo | None) -> tuple[str, str, float | None]:
    """Column and name of the latency to show, with its limit in ms: the strictest that the SLO limits and trials have.

    P99 without a limit where the SLO limits no percentile that trials have.
    """
    for percentile, limit in sorted((slo.limits if slo else {}).items(), reverse=True):
        name = f"p{percentile:g}".replace(".", "")
        if name in ("p50", "p75", "p90", "p95", "p99", "p999"):
            return f"{name}_ms", f"P{percentile:g}", limit
    return "p99_ms", "P99", None


def load_points(trials: Iterable[TrialRow]) -> list[LoadPoint]:
    """One row per trial that measured something."""
    points = [_point(row) for row in trials if row.offered or row.completed or row.stopped]
    return sorted(points, key=lambda point: (point.treatment, point.load, point.trial_id))


def _point(row: TrialRow) -> LoadPoint:
    offered, window = row.offered, row.window_s
    return LoadPoint(
        **LoadPoint.columns_of(row),
        **{name: getattr(row, name) for name in _AS_MEASURED},
        offered_per_s=offered / window if offered is not None and window else None,
        dropped_share=dropped_share(row),
    )


def by_rate(treatments: Iterable[TreatmentSummary]) -> list[RateRow]:
    """One row per treatment and fixed load: verdicts, and the median with the range over repetitions.

    Invalid trials are counted and left out of the rest.
    """
    rows = []
    for treatment in treatments:
        groups = grouped((row for row in treatment.trials if row.repeatable), lambda row: (row.rate, row.clients))
        for rate, clients in sorted(groups, key=lambda load: (load[0], load[1] or 0)):
            rows.append(_at_rate(treatment.label, rate, clients, groups[rate, clients]))
    return rows


def _at_rate(treatment: str, rate: float, clients: int | None, rows: Sequence[TrialRow]) -> RateRow:
    verdicts = Counter(row.verdict for row in rows)
    valid = [row for row in rows if row.valid]
    p99 = [_ranked(row, "p99_ms") for row in valid]
    return RateRow(
        treatment=treatment,
        rate=rate,
        clients=clients,
        trials=len(rows),
        held=verdicts["held"],
        not_held=verdicts["not held"],
        measured=verdicts["measured"],
        invalid=verdicts["invalid"],
        throughput=_median(row.throughput for row in valid),
        mean_ms=_median(row.mean_ms for row in valid),
        p50_ms=_median(_ranked(row, "p50_ms") for row in valid),
        p99_ms=_median(p99),
        p99_lowest_ms=_finite(min(p99, default=None)),
        p99_highest_ms=_finite(max(p99, default=None)),
        p999_ms=_median(_ranked(row, "p999_ms") for row in valid),
        latency_bound_ms=_bound(valid),
        dropped_share=_median(map(dropped_share, valid)),
        unfinished_share=_median(map(unfinished_share, valid)),
    )


def _ranked(row: TrialRow, column: str) -> float:
    """A percentile, infinite where no answer or only a bound is known of it: it is above those of other trials."""
    value: float | None = getattr(row, column)
    return math.inf if value is None else value


_SHOWN: tuple[tuple[str, Callable[[list[float]], float]], ...] = (
    ("p50_ms", median),
    ("p99_ms", median),
    ("p999_ms", median),
    ("p99_ms", max),
)
"""The latencies of a rate that may be null while something is known of them."""


def _bound(rows: Sequence[TrialRow]) -> float | None:
    """What all of the medians and the highest P99 exceed that are not known. A median between a value and a bound may
    be less than the bound."""
    least = []
    for column, of in _SHOWN:
        ranked = [(_ranked(row, column), row.latency_bound_ms) for row in rows]
        if ranked and math.isinf(of([value for value, _ in ranked])):
            least.append(of([min(value, bound or math.inf) for value, bound in ranked]))
    return rounded_down(min(least)) if least and all(map(math.isfinite, least)) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _median(values: Iterable[float | None]) -> float | None:
    known = all_known(values)
    return _finite(median(known)) if known else None


def near_shares(treatment: TreatmentSummary, shares: Iterable[float] = SHARES) -> list[tuple[float, TrialRow]]:
    """For each share of the reference load the nearest trial that ran to its end, with the share it really is at.

    A trial is given once; full trials are preferred to the bracket's where both are about as near.
    """
    reference = treatment.reference
    ran = treatment.whole
    if not ran or not reference:
        return []

    def distance(row: TrialRow, wanted: float) -> float:
        return abs(math.log(row.load / (wanted * reference))) + (0.05 if row.phase == "bracket" else 0)

    chosen: dict[str, tuple[float, TrialRow]] = {}
    for wanted in shares:
        row = min(ran, key=lambda row: distance(row, wanted))
        chosen[row.trial_id] = (row.load / reference, row)
    return sorted(chosen.values(), key=lambda pair: pair[0])


def beside_breaking_point(treatment: TreatmentSummary) -> list[TrialRow]:
    """The valid trial of ``usage.highest_held``, and that of the lowest load from there on that did not hold.

    Of trials that ran to their end: one that was stopped early has no latency.
    """
    ran, held = treatment.whole, highest_held(treatment)
    above = [row for row in ran if row.verdict == "not held" and (held is None or row.load >= held.load)]
    broke = min(above, key=lambda row: row.load, default=None)
    return [row for row in (held, broke) if row is not None]


def spectrum(run: RunFolder, treatment: TreatmentSummary) -> list[SpectrumPoint]:
    """Latency in ms by percentile of the trials of ``near_shares``, from their summaries."""
    points = []
    for portion, row in near_shares(treatment):
        summary = run.summary(row.trial_id)
        about = SpectrumPoint.columns_of(row)
        for percentile, intended, service in summary.spectrum if summary is not None else ():
            point = SpectrumPoint(
                **about, share=portion, percentile=percentile, latency_ms=intended, service_ms=service
            )
            points.append(point)
    return points


def operations(run: RunFolder, treatment: TreatmentSummary) -> list[OperationRow]:
    """Counts and latency by operation of the trials of ``beside_breaking_point``, from their summaries."""
    rows: list[OperationRow] = []
    for row in beside_breaking_point(treatment):
        rows += of_operations(row, run.summary(row.trial_id))
    return rows


def of_operations(row: TrialRow, summary: TrialSummary | None) -> list[OperationRow]:
    """Counts and latency by operation of one trial, from its summary; none of one that was stopped early."""
    if summary is None or row.stopped:
        return []
    rows = []
    for operation in summary.operations:
        counted = operation.latency_ms.counted(row.clients)
        offered, completed = operation.counts.offered, operation.counts.completed
        rows.append(
            OperationRow(
                **OperationRow.columns_of(row),
                operation=operation.name,
                offered=offered,
                completed=completed,
                dropped_share=1 - completed / offered if offered else None,
                violations=operation.violations,
                p50_ms=_of(counted, "p50"),
                p95_ms=_of(counted, "p95"),
                p99_ms=_of(counted, "p99"),
                p999_ms=_of(counted, "p999"),
                max_ms=_of(counted, "max"),
                latency_bound_ms=counted.bound if counted is not None else None,
                service_p99_ms=_of(operation.latency_ms.service, "p99"),
            )
        )
    return rows


def _of(latency: Latency | None, statistic: str) -> float | None:
    return latency.statistic(statistic) if latency is not None else None
