"""What each generating host did in each trial: one row a host and trial, where several hosts shared the load."""

from __future__ import annotations

from statistics import median

import pyarrow as pa

from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import Row

MEASURES = (
    *("sent", "completed", "own_lateness_p99_ms", "connects", "cpu_s", "cpu_share"),
    *("clock_offset_us", "clock_error_us", "reference_before_ms", "reference_after_ms"),
)


def by_host(run: RunFolder) -> pa.Table:
    """One row a trial and host; empty where every load came from one process. Null is what a release did not report."""
    rows: list[Row] = []
    for trial in run.trials.to_pylist():
        summary = run.summary(trial["trial_id"])
        for worker in summary.generator.workers if summary is not None else ():
            host = worker.name or worker.address or str(worker.number)
            row = {name: trial[name] for name in ("trial_id", "treatment", "verdict")} | {"host": host}
            rows.append(row | {name: getattr(worker, name) for name in MEASURES})
    return pa.Table.from_pylist(rows, schema=_BY_HOST)


def medians(table: pa.Table) -> list[Row]:
    """One row a host: the number of its trials, and the median over them of each measure."""
    rows: list[Row] = table.to_pylist()
    found = []
    for host in dict.fromkeys(row["host"] for row in rows):
        mine = [row for row in rows if row["host"] == host]
        values = {name: [row[name] for row in mine if row[name] is not None] for name in MEASURES}
        found.append(
            {"host": host, "trials": len(mine)} | {name: median(of) if of else None for name, of in values.items()}
        )
    return found


_WHOLE = ("sent", "completed", "connects")
_BY_HOST = pa.schema(
    [
        *((name, pa.string()) for name in ("trial_id", "treatment", "verdict", "host")),
        *((name, pa.int64() if name in _WHOLE else pa.float64()) for name in MEASURES),
    ]
)
