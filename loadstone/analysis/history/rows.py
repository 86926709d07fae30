"""What a run leaves for the history of its study: a row for each quantity of each treatment."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

from scipy.special import stdtrit

from loadstone.analysis import breaking_point as bp
from loadstone.analysis import summary
from loadstone.analysis.known import all_known
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.statistics.mean import mean
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model import parts
from loadstone.model.records.trial_row import TrialRow

_MACHINE = ("system", "kernel", "architecture", "cpu", "cores", "usable_cores", "memory_bytes", "governor")
"""Facts of a host by which two machines differ."""
_Z = NormalDist().inv_cdf((1 + bp.CREDIBLE) / 2)


class HistoryRow(TableRow, name="history"):
    """One quantity of one treatment in one run."""

    study: str
    run: str
    """The name of the run's folder: when it was started, in UTC. Of a part, that of the folder with all parts."""
    started: str
    """RFC 3339."""
    treatment: str
    quantity: str
    """``capacity`` or ``breaking point`` in requests/s; ``p50`` or ``p99`` in ms, at a fixed load."""
    load: float | None
    """The load of a latency: requests/s, or clients of a closed loop."""
    clients: int | None
    """Those of a closed loop; null elsewhere, and in files of earlier releases."""
    value: float
    low: float | None
    """The ends of the 95 % interval; null where there are fewer than three trials at a fixed load."""
    high: float | None
    trials: int
    slo: str
    loadstone: str
    application: str
    """A digest of the application as it was deployed."""
    commit: str | None
    machine: str
    """The facts by which machines differ, in words."""

    @property
    def log_sd(self) -> float | None:
        """The standard deviation of the logarithm of the value, as its interval says it: a latency's by Student's t."""
        if not (self.low and self.high):
            return None
        reach = _Z if self.load is None else float(stdtrit(self.trials - 1, (1 + bp.CREDIBLE) / 2))
        return math.log(self.high / self.low) / (2 * reach)


def of_run(run: RunFolder) -> list[HistoryRow]:
    """The rows of a run; none of a run without a finished trial, nor of trials that measure nothing."""
    facts = run.provenance.document
    about: dict[str, Any] = {
        "study": run.name,
        "run": dated(run.folder).name,
        "started": min((trial.started for trial in run.trials), default=""),
        "slo": str(run.objective) if run.objective is not None else "",
        "loadstone": str(facts.get("loadstone", "unknown")),
        "application": str(run.plan.application_digest or ""),
        "commit": facts.get("commit"),
        "machine": _machine(facts.get("host") or {}),
    }
    measured = (treatment for treatment in summary.treatments(run) if treatment.timed)
    return [HistoryRow(**about, **row) for treatment in measured for row in _of_treatment(treatment)]


def file_name(run: RunFolder) -> str:
    """The name of the run's file in a store: no other run has it, wherever it ran."""
    facts = run.provenance.document
    origin = f"{facts.get('time')}{facts.get('host')}{run.plan.application_digest}"
    return f"{run.name}-{dated(run.folder).name}-{hashlib.sha256(origin.encode()).hexdigest()[:8]}.parquet"


def dated(folder: Path) -> Path:
    """The folder that is named by when a run was started: the run's own, of a part's run that with all parts."""
    return folder.parent if (folder.parent / parts.FILE).exists() else folder


def _machine(host: dict[str, Any]) -> str:
    return ", ".join(f"{name} {host[name]}" for name in _MACHINE if name in host)


def _of_treatment(treatment: TreatmentSummary) -> Iterator[dict[str, Any]]:
    if treatment.searched is not None:
        if (found := treatment.searched.result) is not None:
            for quantity, each in (("capacity", found.capacity), ("breaking point", found.breaking_point)):
                yield {
                    "treatment": treatment.label,
                    "quantity": quantity,
                    "load": None,
                    "clients": None,
                    "value": each.value,
                    "low": each.low,
                    "high": each.high,
                    "trials": len(treatment.searched.evidence),
                }
        return
    for load in sorted({row.load for row in treatment.whole}):
        rows = [row for row in treatment.whole if row.load == load]
        for quantity in ("p50", "p99"):
            yield from _latency(treatment, load, quantity, rows)


def _latency(
    treatment: TreatmentSummary, load: float, quantity: str, rows: Sequence[TrialRow]
) -> Iterator[dict[str, Any]]:
    """The geometric mean over repetitions; its interval is of the mean, by the spread of the repetitions."""
    column = f"{quantity}_ms"
    values = all_known(getattr(row, column) for row in rows)
    if not values or min(values) <= 0:
        return
    found = mean(values)
    low, high = (found.low, found.high) if len(values) > 2 else (None, None)
    about = {"treatment": treatment.label, "quantity": quantity, "load": load, "clients": rows[0].clients}
    yield about | {"value": found.value, "low": low, "high": high, "trials": len(values)}
