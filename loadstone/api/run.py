"""A run's results as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from loadstone.analysis import latency, steady_state_table, summary, usage
from loadstone.analysis.metrics import MetricTables
from loadstone.analysis.metrics import gather as measured
from loadstone.analysis.run import RunFolder as Results
from loadstone.analysis.run import open_run
from loadstone.analysis.schema import table
from loadstone.analysis.summary import TreatmentSummary
from loadstone.analysis.trace_cache import Traced
from loadstone.analysis.trace_cache import gather as traced
from loadstone.api.plots import Plots
from loadstone.api.table import Table, joined
from loadstone.api.trial import Trial
from loadstone.model.errors import InputError
from loadstone.model.slo import Slo


def load(path: str | Path) -> Run:
    """Open the results of a run: its folder, an unpacked bundle, or the folder of a study, of which the newest.

    What is missing or damaged is named in ``run.warnings``, and the rest is there. Raises InputError where there is no
    run at all.
    """
    return Run(open_run(Path(path)))


@dataclass(frozen=True)
class Comparison:
    """How treatments differ (docs/explanation/comparison.md); loads in requests/s, latencies in ms."""

    baseline: str
    """What the others are compared with."""
    margin: float
    """What counts as practically equal: 0.02 is 2 %."""
    effects: Table
    """One row a treatment, load and endpoint: ratio with its interval, p, verdict, how many more runs it takes."""
    noise: Table
    """The baseline against itself: what would pass for a difference."""
    shapes: Table
    """Distances between whole distributions."""
    shifts: Table
    """How far each percentile moved."""
    capacities: Table
    """Breaking points, and how many times as much that is."""
    warnings: list[str]
    """What a reader must know before believing it."""


class Run:
    """The results of one run of a study. Tables are made on first use."""

    def __init__(self, run: Results) -> None:
        self._run = run

    @property
    def name(self) -> str:
        """The study's name."""
        return self._run.name

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self._run.folder

    @property
    def study(self) -> dict[str, Any]:
        """The study as it was resolved."""
        return self._run.study.document

    @property
    def provenance(self) -> dict[str, Any]:
        """Versions, host, nodes, the command."""
        return self._run.provenance.document

    @property
    def slo(self) -> Slo | None:
        """What trials were judged by; ``slo.limits`` has ms by percentile."""
        return self._run.objective

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing or damaged."""
        return self._run.warnings

    @cached_property
    def treatments(self) -> list[TreatmentSummary]:
        """What each treatment came to; ``.searched.result`` is the estimate of its breaking point."""
        return summary.treatments(self._run)

    @property
    def trials(self) -> Table:
        """One row a trial, in the order they were run (docs/reference/columns.md); invalid ones too."""
        return Table(self._run.table)

    @cached_property
    def breaking_points(self) -> Table:
        """One row a treatment that was searched, estimates with 95 % intervals; then one for each search of several."""
        return Table(table(summary.BreakingPointRow, summary.breaking_points(self.treatments)))

    @cached_property
    def rates(self) -> Table:
        """One row a treatment and fixed load: verdicts, medians over repetitions."""
        return Table(table(latency.RateRow, latency.by_rate(self.treatments)))

    @cached_property
    def operations(self) -> Table:
        """One row a trial and operation: counts and latency."""
        found = [
            row for trial in self._run.trials for row in latency.of_operations(trial, self._run.summary(trial.trial_id))
        ]
        return Table(table(latency.OperationRow, found))

    @cached_property
    def cpu(self) -> Table:
        """One row a trial and service: cores used in the window, limits, how long it was throttled."""
        found = [
            row for trial in self._run.trials for row in usage.by_service(trial, self._run.readings(trial.trial_id))
        ]
        return Table(table(usage.ServiceCpu, found))

    @cached_property
    def steady(self) -> Table:
        """One row a valid trial: whether its latency had settled, and why not."""
        return Table(table(steady_state_table.SteadyRow, steady_state_table.steady(self._run)))

    @property
    def nodes(self) -> Table:
        """One row a trial and node (docs/reference/metrics.md): use of processors, memory, disks, network."""
        return self._measured("metrics_nodes")

    @property
    def guests(self) -> Table:
        """One row a trial and virtual machine of ours: what its host counted of it, and what it counted itself."""
        return self._measured("metrics_guests")

    @property
    def replicas(self) -> Table:
        """One row a trial and replica."""
        return self._measured("metrics_replicas")

    @property
    def services(self) -> Table:
        """One row a trial and service: cores, throttling, memory, threads of all replicas together."""
        return self._measured("metrics_services")

    @property
    def cstates(self) -> Table:
        """One row a trial, node and C-state."""
        return self._measured("metrics_cstates")

    @property
    def power(self) -> Table:
        """One row a trial, node and power domain."""
        return self._measured("metrics_power")

    @property
    def energy(self) -> Table:
        """One row a trial whose nodes count energy: energy per request."""
        return self._measured("metrics_energy")

    @property
    def critical_path(self) -> Table:
        """One row a trial and service (docs/reference/traces.md), of the trials that the report looks into."""
        return self._traced("traces_services")

    @property
    def paths(self) -> Table:
        """One row a trial and path of services on which the time went; the most frequent first."""
        return self._traced("traces_paths")

    @property
    def metrics(self) -> Table:
        """The raw readings of all trials with their ``trial_id``; for one trial, ``run.trial(trial_id).metrics``."""
        return joined(self._each("metrics"))

    @property
    def spans(self) -> Table:
        """The spans of all trials with their ``trial_id``, maybe millions; of one, ``run.trial(trial_id).spans``."""
        return joined(self._each("spans"))

    def trial(self, trial_id: str) -> Trial:
        """One trial from the inside, by its id or a beginning of it that no other has.

        Raises InputError where there is none, or several.
        """
        found = [trial for trial in self._trials() if trial.id.startswith(trial_id)]
        if len(found) != 1:
            raise InputError(f"{trial_id!r} begins the ids of {len(found)} trials; run.trials has them all")
        return found[0]

    def compare(self, baseline: str | None = None, margin: float | None = None) -> Comparison:
        """Treatments against ``baseline`` (a label or a part of it; the study's own, or the first, where not given).

        Ratios within ``margin`` (0.02: 2 %) are practically equal; the study's own margin where not given. Raises
        InputError where there is nothing to compare.
        """
        from loadstone.analysis import comparison

        return _comparison(comparison.within(self._run, baseline, margin))

    def compare_with(self, earlier: Run, margin: float | None = None) -> Comparison:
        """This run against an earlier one, by the treatments that both have; the earlier one is the baseline."""
        from loadstone.analysis import comparison

        return _comparison(comparison.between(earlier._run, self._run, margin))

    @cached_property
    def plot(self) -> Plots:
        """The figures of the report as objects: ``run.plot.latency()``, ``run.plot.hold()``; ``dir(run.plot)``."""
        return Plots(self.path)

    def _repr_html_(self) -> str:
        """Its name, what is missing, and its results: capacities of a search, else verdicts and medians by load."""
        found = self.breaking_points if len(self.breaking_points) else self.rates
        missing = "".join(f"<li>{escape(text)}</li>" for text in self.warnings)
        about = f"<p><b>{escape(self.name)}</b>: {len(self.trials):,} trials in {escape(str(self.path))}</p>"
        return f"{about}{f'<ul>{missing}</ul>' if missing else ''}{found._repr_html_()}"

    def __repr__(self) -> str:
        return f"<Run {self.name}: {len(self.trials)} trials in {self.path}>"

    def _trials(self) -> Iterator[Trial]:
        for row in self._run.trials:
            yield Trial(self._run, row)

    def _each(self, table: str) -> Iterator[pa.Table]:
        for trial in self._trials():
            found = getattr(trial, table).arrow
            if found.num_rows:
                yield found.add_column(0, "trial_id", pa.array([trial.id] * found.num_rows, pa.string()))

    @cached_property
    def _metrics(self) -> MetricTables:
        return measured(self._run)

    def _measured(self, name: str) -> Table:
        return Table(self._metrics.tables[name])

    @cached_property
    def _traces(self) -> Traced:
        return traced(self._run, self.treatments)

    def _traced(self, name: str) -> Table:
        return Table(self._traces.tables.get(name, pa.table({})))


def _comparison(found: Any) -> Comparison:
    tables = {name: Table(table) for name, table in found.tables.items()}
    return Comparison(
        baseline=found.baseline,
        margin=found.margin,
        effects=tables["comparison"],
        noise=tables["noise"],
        shapes=tables["shapes"],
        shifts=tables["shifts"],
        capacities=tables["capacities"],
        warnings=found.warnings,
    )
