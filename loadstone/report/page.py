"""The report: one page that works alone; beside it the files of figures and tables, and a page of each trial."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from loadstone.analysis import latency, summary, usage
from loadstone.analysis.run import VERDICTS
from loadstone.model.errors import InputError
from loadstone.report import content as contents
from loadstone.report import facts, figure_jobs, overview, rendering, sections, sentences, tables
from loadstone.report import observability as observability_section
from loadstone.report.content import Content
from loadstone.report.details import Pages
from loadstone.report.figure_jobs import DrawnFigure, Job
from loadstone.report.figures.kinds import KINDS
from loadstone.report.figures.look import USUAL, Look
from loadstone.report.figures.observability_kinds import PARTS
from loadstone.report.observability import Observability
from loadstone.report.section import Section

Jobs = dict[str, list[Job]]
"""Figures to draw, by the part of the page that they stand in."""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _ReportParts:
    """All that a report is made from."""

    content: Content
    observability: Observability
    sections: list[Section]
    problems: list[str]
    """What could not be made, and why."""

    @property
    def tables(self) -> dict[str, pa.Table]:
        added = {name: table for section in self.sections for name, table in section.tables.items()}
        return {name: table for name, table in {**self.observability.content.tables, **added}.items() if table.num_rows}

    def jobs(self, folder: Path, look: Look) -> Jobs:
        """The figures of observability, and of sections."""
        about = self.observability.facts()
        jobs = {
            f"observability {name}": [Job(kind, self.observability.content, folder, about, look) for kind in kinds]
            for name, kinds in PARTS.items()
        }
        for section in self.sections:
            known = replace(self.content, tables=self.content.tables | dict(section.tables))
            jobs[f"section {section.name}"] = [Job(kind, known, folder, section.facts, look) for kind in section.kinds]
        return jobs


def build(run_folder: Path, look: Look = USUAL) -> Path:
    """Write ``report/`` into a run folder and return its ``index.html``. What an earlier report left is replaced.

    ``look`` is that of the figures.

    Raises InputError where there is no run, or where links lie in it; the page names what the run lacks.
    """
    refuse_links(run_folder)
    content = contents.gather(run_folder)
    target = content.run.folder / "report"
    making = Path(tempfile.mkdtemp(prefix=".report-", dir=target.parent))
    try:
        write(content, making, look)
        replaced = Path(tempfile.mkdtemp(prefix=".replaced-", dir=making))
        if target.exists():
            target.rename(replaced)
        making.rename(target)
        shutil.rmtree(target / replaced.name)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return target / "index.html"


def refuse_links(run_folder: Path) -> None:
    """Raise InputError for a link: what it leads to would be read, or removed, as a part of the run."""
    for folder, folders, files in os.walk(run_folder):
        for name in (*folders, *files):
            if (path := Path(folder, name)).is_symlink():
                raise InputError(f"{path} is a link to {os.readlink(path)}: remove it, or put its content there")


def write(content: Content, target: Path, look: Look = USUAL) -> None:
    """Write ``index.html``, and all beside it, into an empty folder."""
    for name in ("figures", "tables", "trials", "treatments"):
        (target / name).mkdir()

    def gather() -> _ReportParts:
        observed = observability_section.gather(content)
        return _ReportParts(content, observed, *sections.gather(observed.content))

    first, troubles, found = _draw({"": [Job(kind, content, target / "figures", look=look) for kind in KINDS]}, gather)
    pages = Pages(found.observability, target)

    def write() -> dict[str, list[str]]:
        written = tables.write(found.tables, target / "tables", content.closed)
        pages.write(written)
        return written

    figures, problems, written = _draw(found.jobs(target / "figures", look), write)
    found.problems.extend([*troubles, *problems])
    text = _render(found, first | figures, pages, written, target)
    (target / "index.html").write_text(text, encoding="utf-8")


def _draw(jobs: Jobs, meanwhile: Callable[[], _Result]) -> tuple[dict[str, list[DrawnFigure]], list[str], _Result]:
    """By part of the page what was drawn, what could not be, and what was done meanwhile."""
    drawn, problems, other = figure_jobs.draw([job for some in jobs.values() for job in some], meanwhile)
    each = iter(drawn)
    figures = {part: [shown for _ in some if (shown := next(each)) is not None] for part, some in jobs.items()}
    return figures, problems, other


def _render(
    found: _ReportParts,
    figures: Mapping[str, list[DrawnFigure]],
    pages: Pages,
    written: Mapping[str, list[str]],
    folder: Path,
) -> str:
    content, added = found.content, found.sections
    values = {
        "content": content,
        "run": content.run,
        "treatments": content.treatments,
        "several": len(content.treatments) > 1,
        "pages": pages,
        "answer": sentences.answer(content),
        "bounded": sentences.bounds_of_one(content),
        "each": sentences.each_treatment(content),
        "overview": overview.rows(content),
        "warnings": [
            *sentences.warnings(content),
            *found.problems,
            *(text for section in added for text in section.cautions),
        ],
        "sections": [(section, figures[f"section {section.name}"]) for section in added],
        "slo": sentences.slo(content),
        "closed": content.closed,
        "figures": figures[""],
        "observability": found.observability,
        "figures_observability": {name: figures[f"observability {name}"] for name in PARTS},
        # These tables have rows for each node and service of each trial: files beside the page, not in it.
        "csv": {
            name: rendering.download(folder / "tables" / f"{name}.csv")
            for name in content.tables
            if "csv" in written.get(name, ())
        },
        "breaking": content.rows(summary.BreakingPointRow),
        "left_out": {treatment.label for treatment in content.treatments if treatment.id in content.left_out},
        "grid": content.grid,
        "forest": _forest(content.rows(summary.BreakingPointRow)),
        "rates": content.rows(latency.RateRow),
        "operations": content.rows(latency.OperationRow),
        "cpu": content.rows(usage.ServiceCpu),
        "trials": content.run.trials,
        "percentile": latency.percentile_column(content.slo),
        "verdicts": {v: sum(t.count(v) for t in content.treatments) for v in VERDICTS},
        "common": {each.text for each in summary.trial_warnings(content.run.trials) if each.same},
        "evidence": content.evidence,
        "deployments": facts.deployments(content),
        "facts": list(facts.study(content)),
        "origin": list(facts.origin(content)),
        "repeat": facts.repeat(content),
    }
    return rendering.render("index.html.j2", written, values)


def _forest(rows: Iterable[summary.BreakingPointRow]) -> dict[str, float]:
    """The common axis of the intervals in the table of capacities, in requests/s."""
    ends = [end for row in rows for end in (row.capacity_low, row.capacity_high) if end]
    return {"low": 0.95 * min(ends), "high": 1.05 * max(ends)} if ends else {}
