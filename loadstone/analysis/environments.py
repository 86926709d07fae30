"""What each treatment really ran in, and its latency over all percentiles from run to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import mean_of_all
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.statistics import mean
from loadstone.model.records.trial_row import TrialRow

FACTOR = "environment"


class EnvironmentRow(TableRow, name="environments"):
    """A treatment: ``environment`` as its audits found it, and the rest as in ``trials.parquet``.

    ``steal_share`` is the mean over the valid trials, null where one of them did not record it.
    """

    treatment: str
    trials: int
    environment: str | None
    accelerator: str | None
    nested: bool | None
    emulated: bool
    steal_share: float | None


class EnvironmentPercentileRow(TableRow, name="environment_percentiles"):
    """A treatment at a fixed load: the geometric mean of one percentile over its runs, with its 95 % interval.

    ``beside`` are the treatment's levels of all other factors.
    """

    treatment: str
    environment: str
    beside: str
    rate: float
    clients: int | None
    runs: int
    percentile: float
    latency_ms: float
    latency_ms_low: float | None
    latency_ms_high: float | None


def environments(run: RunFolder) -> list[EnvironmentRow]:
    """One row per treatment, in the order in which they first ran."""
    by_treatment = grouped(run.trials, lambda trial: trial.treatment)
    return [_environment(label, trials) for label, trials in by_treatment.items()]


def _environment(treatment: str, trials: list[TrialRow]) -> EnvironmentRow:
    nested = [trial.nested for trial in trials if trial.nested is not None]
    return EnvironmentRow(
        treatment=treatment,
        trials=len(trials),
        environment=_joined(trial.environment for trial in trials),
        accelerator=_joined(trial.accelerator for trial in trials),
        nested=any(nested) if nested else None,
        emulated=any(trial.emulated for trial in trials),
        steal_share=mean_of_all(trial.steal_share for trial in trials if trial.valid),
    )


def _joined(values: Iterable[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(value for value in values if value)) or None


def percentiles(run: RunFolder) -> list[EnvironmentPercentileRow]:
    """Percentiles of the treatments of a study that varies the environment, at fixed loads: of valid trials that ran to
    their end, on processors that are no software.

    In a closed loop latency is from the actual send. A curve ends at the last percentile that all runs can show.
    """
    trials = [row for row in run.trials if FACTOR in row.factors and row.valid and row.timed and row.repeatable]
    ended = (row for row in trials if not row.stopped)
    groups = grouped(ended, lambda row: (row.treatment, row.rate, row.clients))
    return [row for trials in groups.values() for row in _curve(run, trials)]


def _curve(run: RunFolder, trials: list[TrialRow]) -> Iterator[EnvironmentPercentileRow]:
    first = trials[0]
    # One in which nothing was answered well has no percentile to show, so no curve has any.
    curves = [curve for trial in trials if (curve := _spectrum(run, trial)) is not None]
    for percentile in sorted(set.intersection(*map(set, curves)) if curves else ()):
        found = mean([curve[percentile] for curve in curves])
        low, high = found.ends
        yield EnvironmentPercentileRow(
            treatment=first.treatment,
            environment=_joined(trial.environment for trial in trials) or first.factors[FACTOR],
            beside=", ".join(f"{name}={level}" for name, level in first.factors.items() if name != FACTOR),
            rate=first.rate,
            clients=first.clients,
            runs=len(curves),
            percentile=percentile,
            latency_ms=found.value,
            latency_ms_low=low,
            latency_ms_high=high,
        )


def _spectrum(run: RunFolder, trial: TrialRow) -> dict[float, float] | None:
    """Latency in ms by percentile, as far as there is at least one request above it; None without a summary."""
    summary = run.summary(trial.trial_id)
    if summary is None:
        return None
    count = trial.completed if trial.clients is not None else trial.offered
    found = {}
    for percentile, intended, service in summary.spectrum:
        value = intended if trial.clients is None else service
        if value and (100 - percentile) / 100 * (count or 0) >= 1:
            found[percentile] = value
    return found
