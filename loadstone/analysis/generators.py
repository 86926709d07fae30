"""What each generating host did in each trial: one row a host and trial, where several hosts shared the load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import all_known
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow

MEASURES = (
    *("sent", "completed", "p99_ms", "own_lateness_p99_ms", "connects", "cpu_s", "cpu_share"),
    *("clock_offset_us", "clock_error_us", "reference_before_ms", "reference_after_ms"),
)


class HostRow(TableRow, name="generators"):
    """One generating host in one trial; None is what a release did not report."""

    trial_id: str
    treatment: str
    verdict: str
    host: str
    sent: int | None
    completed: int | None
    p99_ms: float | None
    own_lateness_p99_ms: float | None
    connects: int | None
    cpu_s: float | None
    cpu_share: float | None
    clock_offset_us: float | None
    clock_error_us: float | None
    reference_before_ms: float | None
    reference_after_ms: float | None


@dataclass(frozen=True)
class HostMedians:
    """A host over a treatment's ``trials``; ``median`` has each of ``MEASURES`` that it reports."""

    treatment: str
    host: str
    trials: int
    median: dict[str, float]


def by_host(run: RunFolder) -> list[HostRow]:
    """One row a trial and host; empty where every load came from one process."""
    rows = []
    for trial in run.trials:
        summary = run.summary(trial.trial_id)
        for worker in summary.generator.workers if summary is not None else ():
            row = HostRow(
                trial_id=trial.trial_id,
                treatment=trial.treatment,
                verdict=trial.verdict,
                host=worker.name or worker.address or str(worker.number),
                **{name: getattr(worker, name) for name in MEASURES},
            )
            rows.append(row)
    return rows


def medians(rows: Iterable[HostRow]) -> list[HostMedians]:
    """One entry a treatment and host, with the medians over its trials: of what is known in all of them."""
    by_host = grouped(rows, lambda row: (row.treatment, row.host))
    return [HostMedians(*key, len(mine), dict(_medians(mine))) for key, mine in by_host.items()]


def _medians(rows: list[HostRow]) -> Iterator[tuple[str, float]]:
    for name in MEASURES:
        if values := all_known(getattr(row, name) for row in rows):
            yield name, median(values)
