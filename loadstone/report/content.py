"""The content of a report, gathered once: figures, tables, page and terminal are views of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from loadstone.analysis import breaking_point as bp
from loadstone.analysis import drift, evidence, latency, summary, usage
from loadstone.analysis.evidence import Evidence
from loadstone.analysis.grid import Grid, grid
from loadstone.analysis.posterior import posterior
from loadstone.analysis.run import RunFolder, open_run
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.slo import Slo

if TYPE_CHECKING:
    from loadstone.analysis.capacity import LeftOut
    from loadstone.analysis.reproduction import BestFits


@dataclass(frozen=True)
class Content:
    """A run with its analysis. ``tables`` are by name: each is a CSV file, and the data of the figures."""

    run: RunFolder
    treatments: list[TreatmentSummary]
    slo: Slo | None
    tables: dict[str, pa.Table]
    evidence: Evidence
    grid: Grid | None
    """Breaking points by two or more factors."""

    @property
    def application(self) -> str:
        """The application's name."""
        planned = self.run.plan.get("application")
        name = planned.get("name") if isinstance(planned, dict) else None
        return str(name or self.run.study.get("application") or "the application")

    @property
    def closed(self) -> bool:
        """Whether the load came from a closed loop, which is noted at every latency."""
        return self.run.closed

    @property
    def percentile(self) -> tuple[str, str, float | None]:
        """Column, name and limit in ms of the latency that is shown against load."""
        return latency.percentile_column(self.slo)

    @cached_property
    def left_out(self) -> dict[str, LeftOut]:
        """The treatments that a guided study did not measure, by id."""
        from loadstone.analysis import capacity

        return capacity.left_out(self.run, self.treatments)

    @cached_property
    def best_fits(self) -> BestFits:
        """The fifth study's comparison of this run; the first time it reads every distribution, which takes a while."""
        from loadstone.analysis import reproduction  # with a compiler, which takes a second to load

        return reproduction.best_fits(self.run, self.treatments)

    def rows(self, table: str, **equal: Any) -> list[dict[str, Any]]:
        """The rows of a table in which the columns ``equal`` these values."""
        rows: list[dict[str, Any]] = self.tables[table].to_pylist()
        return [row for row in rows if all(row[name] == value for name, value in equal.items())]


def gather(path: Path) -> Content:
    """Read the run at ``path`` and analyse it."""
    run = open_run(path)
    treatments = summary.treatments(run)
    tables = {
        "breaking_points": summary.breaking_points(treatments),
        "rates": latency.by_rate(run.trials),
        "load": latency.load_points(run.trials),
        "hold": _hold(treatments),
        "spectrum": _each(latency.spectrum, run, treatments),
        "operations": _each(latency.operations, run, treatments),
        "cpu": _each(usage.cpu_by_service, run, treatments),
        "reference": drift.course(run.trials),
        "trials": run.trials,
    }
    found, points = evidence.gather(run, treatments), grid(treatments)
    tables |= {"audit": found.audit} | ({"grid": points.table()} if points is not None else {})
    return Content(run, treatments, run.objective, tables, found, points)


def _each(function: Any, run: RunFolder, treatments: list[TreatmentSummary]) -> pa.Table:
    tables = [function(run, treatment) for treatment in treatments]
    return pa.concat_tables(tables) if tables else pa.table({})


_HOLD = pa.schema(
    [("treatment", pa.string()), *((name, pa.float64()) for name in ("load", "probability", "low", "high"))]
)
_HOLD_POINTS = 80


def _hold(treatments: list[TreatmentSummary]) -> pa.Table:
    """P(hold) with its 95 % band around each capacity and breaking point, as far as the full trials near them go."""
    rows = []
    for treatment in treatments:
        if treatment.searched is None or treatment.searched.result is None:
            continue
        full, short = summary.search_trials(treatment.rows())
        capacity, point = treatment.searched.result.capacity, treatment.searched.result.breaking_point
        low = max(min(0.9 * capacity.low, *(trial.load for trial in full)), 0.7 * capacity.low)
        high = min(max(1.1 * point.high, *(trial.load for trial in full)), 1.4 * point.high)
        loads = [low + (high - low) * step / (_HOLD_POINTS - 1) for step in range(_HOLD_POINTS)]
        band = bp.hold_band(posterior(full, short), loads)
        columns = zip(band.load, band.median, band.low, band.high, strict=True)
        rows += [dict(zip(_HOLD.names, (treatment.label, *values), strict=True)) for values in columns]
    return pa.Table.from_pylist(rows, schema=_HOLD)
