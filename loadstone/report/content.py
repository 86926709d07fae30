"""The content of a report, gathered once: figures, tables, page and terminal are views of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from loadstone.analysis import breaking_point as bp
from loadstone.analysis import curves, drift, evidence, latency, summary, usage
from loadstone.analysis.evidence import Evidence
from loadstone.analysis.grid import Grid, grid
from loadstone.analysis.posterior import posterior
from loadstone.analysis.run import RunFolder, open_run
from loadstone.analysis.schema import TableRow, rows, tables
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.slo import Slo

if TYPE_CHECKING:
    from loadstone.analysis.capacity import LeftOut
    from loadstone.analysis.reproduction import BestFits


_Row = TypeVar("_Row", bound=TableRow)


class HoldPoint(TableRow, name="hold"):
    """P(hold) at one load, with its 95 % band."""

    treatment: str
    load: float
    probability: float
    low: float
    high: float


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
        return self.run.application or "the application"

    @property
    def closed(self) -> bool:
        """Whether the load came from a closed loop, which is noted at every latency."""
        return self.run.closed

    @property
    def percentile(self) -> tuple[str, str, float | None]:
        """Column, name and limit in ms of the latency that is shown against load."""
        return latency.percentile_column(self.slo)

    @cached_property
    def beside(self) -> str:
        """Where the trials of ``latency.beside_breaking_point`` lie: ``beside the breaking point`` only where there is
        one on each side of it for every treatment that has any."""
        chosen = [{row.verdict for row in latency.beside_breaking_point(treatment)} for treatment in self.treatments]
        shown = [verdicts for verdicts in chosen if verdicts]
        if not self.closed and shown and all(verdicts == {"held", "not held"} for verdicts in shown):
            return "beside the breaking point"
        most, fewest = ("most clients", "fewest clients") if self.closed else ("highest load", "lowest load")
        places = {
            "held": f"the {most} that held",
            "measured": f"the {most}",
            "not held": f"the {fewest} that did not hold",
        }
        return "at " + " and ".join(
            place for verdict, place in places.items() if any(verdict in some for some in shown)
        )

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

    def rows(self, kind: type[_Row], **equal: Any) -> list[_Row]:
        """The rows of a table in which the columns ``equal`` these values; none of a table that is not there."""
        found = rows(kind, self.tables[kind.NAME]) if kind.NAME in self.tables else []
        return [row for row in found if all(getattr(row, name) == value for name, value in equal.items())]


def gather(path: Path) -> Content:
    """Read the run at ``path`` and analyse it."""
    run = open_run(path)
    treatments = summary.treatments(run)
    found, points = evidence.gather(run, treatments), grid(treatments)
    made = tables(
        (summary.BreakingPointRow, summary.breaking_points(treatments)),
        (latency.RateRow, latency.by_rate(treatments)),
        (latency.LoadPoint, latency.load_points(run.trials)),
        (curves.CurvePoint, curves.points(treatments)),
        (HoldPoint, _hold(treatments)),
        (latency.SpectrumPoint, _each(latency.spectrum, run, treatments)),
        (latency.OperationRow, _each(latency.operations, run, treatments)),
        (usage.ServiceCpu, _each(usage.cpu_by_service, run, treatments)),
        (drift.SpeedReading, drift.course(run.trials)),
        (evidence.AuditedLimit, found.audit),
    )
    made |= {"trials": run.table} | ({"grid": points.table()} if points is not None else {})
    return Content(run, treatments, run.objective, made, found, points)


def _each(
    function: Callable[[RunFolder, TreatmentSummary], Sequence[_Row]],
    run: RunFolder,
    treatments: list[TreatmentSummary],
) -> list[_Row]:
    return [row for treatment in treatments for row in function(run, treatment)]


_HOLD_POINTS = 80


def _hold(treatments: list[TreatmentSummary]) -> Iterator[HoldPoint]:
    """P(hold) with its 95 % band around each capacity and breaking point, as far as the full trials near them go."""
    for treatment in treatments:
        if treatment.searched is None or treatment.searched.result is None:
            continue
        full, short = summary.search_trials(treatment.trials)
        capacity, point = treatment.searched.result.capacity, treatment.searched.result.breaking_point
        low = max(min(0.9 * capacity.low, *(trial.load for trial in full)), 0.7 * capacity.low)
        high = min(max(1.1 * point.high, *(trial.load for trial in full)), 1.4 * point.high)
        loads = [low + (high - low) * step / (_HOLD_POINTS - 1) for step in range(_HOLD_POINTS)]
        band = bp.hold_band(posterior(full, short), loads)
        for load, median, lowest, highest in zip(band.load, band.median, band.low, band.high, strict=True):
            yield HoldPoint(treatment=treatment.label, load=load, probability=median, low=lowest, high=highest)
