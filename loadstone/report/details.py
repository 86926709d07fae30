"""A page for each trial and each treatment beside the report: small files, drawn without plotting software."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from markupsafe import Markup, escape

from loadstone.analysis import latency, usage
from loadstone.analysis.latency import OperationRow
from loadstone.analysis.metrics.nodes import NodeRow
from loadstone.analysis.metrics.power import EnergyRow
from loadstone.analysis.run import logs
from loadstone.analysis.schema import OfTrial
from loadstone.analysis.summary import BreakingPointRow, TreatmentSummary
from loadstone.analysis.traced_rows import TracedOperation, TracedService
from loadstone.analysis.usage import ServiceCpu
from loadstone.model.records.trial_row import TrialRow
from loadstone.report import detail_plots, facts, rendering, sentences
from loadstone.report.content import Content
from loadstone.report.observability import Observability

_Observed = TypeVar("_Observed", bound=OfTrial)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,80}")
"""What may name a file: an identity that was damaged gets no page."""
MOST_OPERATIONS, MOST_SERVICES = 10, 40
MOST_TRIALS = 600
"""Trials with a page: of more, thousands of pages would make most of the report."""


class Pages:
    """The pages of trials and treatments, their links and contents."""

    def __init__(self, observed: Observability, report: Path) -> None:
        self.content = observed.content
        self.report = report
        self.trials = {row.trial_id: row for row in _paged(self.content) if _NAME.fullmatch(row.trial_id)}
        self.treatments = {
            treatment.id: treatment for treatment in self.content.treatments if _NAME.fullmatch(treatment.id)
        }
        self._ids = {treatment.label: treatment.id for treatment in self.treatments.values()}

    def trial(self, trial_id: str, up: str = "") -> Markup:
        """A link to a trial's page, from a page that is ``up`` from the report's folder."""
        return _link(f"{up}trials/{trial_id}.html", trial_id) if trial_id in self.trials else escape(trial_id)

    def treatment(self, label: str, up: str = "") -> Markup:
        """A link to a treatment's page."""
        return _link(f"{up}treatments/{self._ids[label]}.html", label) if label in self._ids else escape(label)

    def write(self, written: Mapping[str, Sequence[str]]) -> None:
        """Write all of them, with the style and the script that they share."""
        for name in ("page.css", "page.js"):
            (self.report / name).write_text(rendering.render(name, written, {}), encoding="utf-8")
        order = list(self.trials)
        for place, (trial_id, row) in enumerate(self.trials.items()):
            beside = {"before": order[place - 1] if place else None, "after": next(iter(order[place + 1 :]), None)}
            shown = self._trial(row) | beside
            text = rendering.render("trial.html.j2", written, shown)
            (self.report / "trials" / f"{trial_id}.html").write_text(text, encoding="utf-8")
        for name, treatment in self.treatments.items():
            text = rendering.render("treatment.html.j2", written, self._treatment(treatment))
            (self.report / "treatments" / f"{name}.html").write_text(text, encoding="utf-8")

    @cached_property
    def _by_trial(self) -> dict[type[OfTrial], dict[str, list[Any]]]:
        """What was observed, by the kind of row and trial."""
        found: dict[type[OfTrial], dict[str, list[Any]]] = {}
        for kind in (NodeRow, EnergyRow, TracedService, TracedOperation):
            by_trial = found.setdefault(kind, {})
            for row in self.content.rows(kind):
                by_trial.setdefault(row.trial_id, []).append(row)
        return found

    def _of(self, kind: type[_Observed], trial: TrialRow | None) -> list[_Observed]:
        return self._by_trial[kind].get(trial.trial_id, []) if trial is not None else []

    def _trial(self, row: TrialRow) -> dict[str, Any]:
        run, content = self.content.run, self.content
        trial_id = row.trial_id
        summary, audit = run.summary(trial_id), run.audit(trial_id) or ()
        folder = run.folder / "trials" / trial_id
        return {
            **self._shared(),
            "trial": row,
            "failed": summary.errors if summary is not None else (),
            "operations": latency.of_operations(row, summary),
            "plots": [
                plot
                for plot in (
                    detail_plots.spectrum([(row, summary)], content),
                    detail_plots.over_time(row, summary),
                )
                if plot is not None
            ],
            "services": usage.by_service(row, run.readings(trial_id))[:MOST_SERVICES],
            "nodes": self._of(NodeRow, row),
            "energy": self._of(EnergyRow, row),
            "critical": self._of(TracedService, row)[:MOST_SERVICES],
            "slowest": _slowest(self._of(TracedOperation, row)),
            "audit": audit,
            "deployed": facts.replicas([row for row in audit if not row.ok]),
            "checks": run.checks(trial_id),
            "logs": logs.read(folder),
            "files": _files(folder),
        }

    def _treatment(self, treatment: TreatmentSummary) -> dict[str, Any]:
        run, content = self.content.run, self.content
        near = [(row, run.summary(row.trial_id)) for _, row in latency.near_shares(treatment)]
        plots = (detail_plots.load(treatment, content), detail_plots.spectrum(near, content))
        deployment = run.folder / "deployments" / treatment.id
        mine = {"treatment": treatment.label}
        highest = usage.highest_held(treatment)
        return {
            **self._shared(),
            "treatment": treatment,
            "finding": sentences.finding(content, treatment),
            "bounded": sentences.bounded(content, treatment),
            "breaking": content.rows(BreakingPointRow, **mine),
            "rows": treatment.trials,
            "plots": [plot for plot in plots if plot is not None],
            "operations": content.rows(OperationRow, **mine),
            "services": content.rows(ServiceCpu, **mine),
            "highest": highest.trial_id if highest is not None else None,
            "nodes": self._of(NodeRow, highest),
            "critical": self._of(TracedService, highest)[:MOST_SERVICES],
            "slowest": _slowest(self._of(TracedOperation, highest)),
            "deployments": [
                deployed for deployed in facts.deployments(content) if deployed.treatment == treatment.label
            ],
            "files": _files(deployment),
            "logs": logs.read(deployment),
        }

    def _shared(self) -> dict[str, Any]:
        content = self.content
        several = len(content.treatments) > 1
        named = {"percentile": content.percentile, "several": several, "closed": content.closed}
        return {"content": content, "pages": self, **named}


def _paged(content: Content) -> list[TrialRow]:
    """The trials that have a page, in their order. Of many those beside a breaking point and the invalid ones come
    first, then the first repetitions."""
    trials = content.run.trials
    near = {row.trial_id for each in content.treatments for row in latency.beside_breaking_point(each)}
    near |= {row.trial_id for each in content.treatments if (row := usage.highest_held(each)) is not None}
    ranked = sorted(trials, key=lambda row: (row.trial_id not in near, row.valid, row.repetition, row.order))
    kept = {row.trial_id for row in ranked[:MOST_TRIALS]}
    return [row for row in trials if row.trial_id in kept]


def _link(target: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(target, text)


def _slowest(operations: Iterable[TracedOperation]) -> list[TracedOperation]:
    """The operations and calls with the highest P99."""
    return sorted(operations, key=lambda row: -(row.total_p99_ms or 0.0))[:MOST_OPERATIONS]


def _files(folder: Path) -> Sequence[tuple[str, int]]:
    """Names and sizes of the files in a folder, not of those in its own folders."""
    try:
        found: Iterable[Path] = sorted(file for file in folder.iterdir() if file.is_file())
        return [(file.name, file.stat().st_size) for file in found if not file.name.startswith(".")]
    except OSError:
        return []
