"""What each generating host did in each trial: one row a host and trial, where several hosts shared the load."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import pyarrow as pa

from loadstone.analysis.run.folder import Run
from loadstone.analysis.summary import Row

MEASURES = (
    *("sent", "completed", "own_lateness_p99_ms", "connects", "cpu_s", "cpu_share"),
    *("clock_offset_us", "clock_error_us", "reference_before_ms", "reference_after_ms"),
)


def by_host(run: Run) -> pa.Table:
    """One row a trial and host; empty where every load came from one process. Null is what a release did not report."""
    rows: list[Row] = []
    for trial in run.trials.to_pylist():
        summary = run.of_trial(trial["trial_id"], "summary.json") or {}
        for worker in (summary.get("generator") or {}).get("workers") or ():
            row = {name: trial[name] for name in ("trial_id", "treatment", "verdict")} | {"host": _name(worker)}
            rows.append(row | {name: worker.get(name) for name in MEASURES})
    return pa.Table.from_pylist(rows, schema=_BY_HOST)


def _name(worker: Mapping[str, Any]) -> str:
    """A load worker's name; earlier releases had its address."""
    return worker.get("name") or worker.get("address") or str(worker["number"])


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
