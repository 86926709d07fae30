"""A page for each trial and each treatment beside the report: small files, drawn without plotting software."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from loadstone.analysis import latency, usage
from loadstone.analysis.run import logs
from loadstone.analysis.summary import Row, TreatmentSummary
from loadstone.report import detail_plots, facts, rendering, sentences
from loadstone.report.observability import Observability

Rows = list[Row]
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,80}")
"""What may name a file: an identity that was damaged gets no page."""
MOST_OPERATIONS, MOST_SERVICES = 10, 40
_TABLES = ("metrics_nodes", "metrics_services", "metrics_energy", "traces_services", "traces_operations")


class Pages:
    """The pages of trials and treatments, their links and contents."""

    def __init__(self, observed: Observability, report: Path) -> None:
        self.content = observed.content
        self.report = report
        self.trials = {row["trial_id"]: row for row in self.content.rows("trials") if _NAME.fullmatch(row["trial_id"])}
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
        observed = self._by_trial()
        order = list(self.trials)
        for place, (trial_id, row) in enumerate(self.trials.items()):
            beside = {"before": order[place - 1] if place else None, "after": (order[place + 1 :] or [None])[0]}
            shown = self._trial(row, observed.get(trial_id, {})) | beside
            text = rendering.render("trial.html.j2", written, shown)
            (self.report / "trials" / f"{trial_id}.html").write_text(text, encoding="utf-8")
        for name, treatment in self.treatments.items():
            text = rendering.render("treatment.html.j2", written, self._treatment(treatment))
            (self.report / "treatments" / f"{name}.html").write_text(text, encoding="utf-8")

    def _by_trial(self) -> dict[str, dict[str, Rows]]:
        """What was observed in each trial, by table."""
        found: dict[str, dict[str, Rows]] = {}
        for name in _TABLES:
            for row in self.content.rows(name) if name in self.content.tables else ():
                found.setdefault(row["trial_id"], {}).setdefault(name, []).append(row)
        return found

    def _trial(self, row: Row, observed: dict[str, Rows]) -> dict[str, Any]:
        run, content = self.content.run, self.content
        trial_id = row["trial_id"]
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
                    detail_plots.over_time(row, summary, content),
                )
                if plot is not None
            ],
            "services": usage.by_service(row, run.readings(trial_id))[:MOST_SERVICES],
            "nodes": observed.get("metrics_nodes", []),
            "energy": observed.get("metrics_energy", []),
            "critical": observed.get("traces_services", [])[:MOST_SERVICES],
            "slowest": _slowest(observed.get("traces_operations", [])),
            "audit": audit,
            "deployed": facts.replicas([row.model_dump() for row in audit if not row.ok]),
            "checks": run.checks(trial_id),
            "logs": logs.read(folder),
            "files": _files(folder),
        }

    def _treatment(self, treatment: TreatmentSummary) -> dict[str, Any]:
        run, content = self.content.run, self.content
        near = [(row, run.summary(row["trial_id"])) for _, row in latency.near_shares(treatment)]
        plots = (detail_plots.load(treatment, content), detail_plots.spectrum(near, content))
        deployment = run.folder / "deployments" / treatment.id
        mine = {"treatment": treatment.label}
        highest = usage.highest_held(treatment)
        return {
            **self._shared(),
            "treatment": treatment,
            "finding": sentences.finding(content, treatment),
            "bounded": sentences.bounded(content, treatment),
            "breaking": content.rows("breaking_points", **mine),
            "rows": treatment.rows(),
            "plots": [plot for plot in plots if plot is not None],
            "operations": content.rows("operations", **mine),
            "services": content.rows("cpu", **mine),
            "highest": highest["trial_id"] if highest is not None else None,
            "nodes": self._of("metrics_nodes", highest),
            "critical": self._of("traces_services", highest)[:MOST_SERVICES],
            "slowest": _slowest(self._of("traces_operations", highest)),
            "deployments": [
                deployment for deployment in facts.deployments(content) if deployment["treatment"] == treatment.label
            ],
            "files": _files(deployment),
            "logs": logs.read(deployment),
        }

    def _of(self, table: str, trial: Row | None) -> Rows:
        if trial is None or table not in self.content.tables:
            return []
        return self.content.rows(table, trial_id=trial["trial_id"])

    def _shared(self) -> dict[str, Any]:
        content = self.content
        several = len(content.treatments) > 1
        named = {"percentile": content.percentile, "several": several, "closed": content.closed}
        return {"content": content, "pages": self, **named}


def _link(target: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(target, text)


def _slowest(operations: Rows) -> Rows:
    """The operations and calls with the highest P99."""
    return sorted(operations, key=lambda row: -(row["total_p99_ms"] or 0.0))[:MOST_OPERATIONS]


def _files(folder: Path) -> Sequence[tuple[str, int]]:
    """Names and sizes of the files in a folder, not of those in its own folders."""
    try:
        found: Iterable[Path] = sorted(file for file in folder.iterdir() if file.is_file())
        return [(file.name, file.stat().st_size) for file in found if not file.name.startswith(".")]
    except OSError:
        return []
