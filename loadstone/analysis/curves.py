"""What each treatment came to at each fixed load, over its repetitions: median, mean and 95 % interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import all_known
from loadstone.analysis.schema import TableRow
from loadstone.analysis.statistics.mean import arithmetic, mean
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.records.trial_row import TrialRow

LATENCIES = ("mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms")


class CurvePoint(TableRow, name="curves"):
    """One quantity of one treatment at one load, over its valid trials. Of latencies the mean is the geometric one.

    ``low`` and ``high`` are its 95 % interval (Student's t), null of a single trial. Quantities: latencies in ms,
    ``throughput`` (completed within the window, requests/s), ``dropped_share`` (of the requests that were scheduled,
    those without a good answer in time) and ``unfinished_share`` (those without one when the window ended). There is no
    percentile where only a lower bound of it is known in a trial, as too few requests were answered well.
    """

    treatment: str
    load: float
    quantity: str
    trials: int
    median: float
    mean: float
    low: float | None
    high: float | None


def points(treatments: Iterable[TreatmentSummary]) -> Iterator[CurvePoint]:
    """By treatment, load and quantity, of trials at fixed loads that ran to their end."""
    for treatment in treatments:
        by_load = grouped((row for row in treatment.whole if row.repeatable), lambda row: row.load)
        for load, rows in sorted(by_load.items()):
            for quantity, of in _QUANTITIES.items():
                if values := all_known(of(row) for row in rows):
                    yield _point(treatment.label, load, quantity, values)


def unfinished_share(row: TrialRow) -> float | None:
    """The share of the requests scheduled in the window that had no good answer when it ended.

    What was scheduled before the window and answered in it counts as answered, as it does where only answers are
    counted.
    """
    if not row.offered or row.throughput is None or not row.window_s:
        return None
    return max(0.0, 1 - row.throughput * row.window_s / row.offered)


def dropped_share(row: TrialRow) -> float | None:
    """The share of the requests scheduled in the window that got no good answer in time."""
    return 1 - row.completed / row.offered if row.offered and row.completed is not None else None


def _latency(name: str) -> Callable[[TrialRow], float | None]:
    return lambda row: getattr(row, name) or None


_QUANTITIES: dict[str, Callable[[TrialRow], float | None]] = {
    **{name: _latency(name) for name in LATENCIES},
    "throughput": lambda row: row.throughput,
    "dropped_share": dropped_share,
    "unfinished_share": unfinished_share,
}


def _point(treatment: str, load: float, quantity: str, values: Sequence[float]) -> CurvePoint:
    found = mean(values) if quantity in LATENCIES else arithmetic(values)
    low, high = found.ends
    return CurvePoint(
        treatment=treatment,
        load=load,
        quantity=quantity,
        trials=len(values),
        median=median(values),
        mean=found.value,
        low=low,
        high=high,
    )
