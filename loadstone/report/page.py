"""The report: one page that works alone; beside it the files of figures and tables, and a page of each trial."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from loadstone.analysis import latency, summary
from loadstone.analysis.run import VERDICTS
from loadstone.report import content as contents
from loadstone.report import facts, figure_jobs, rendering, sections, tables, words
from loadstone.report import observability as insides
from loadstone.report.content import Content
from loadstone.report.details import Pages
from loadstone.report.figure_jobs import Job, Shown
from loadstone.report.figures.kinds import KINDS
from loadstone.report.figures.observability_kinds import PARTS
from loadstone.report.observability import Inside
from loadstone.report.section import Section

Jobs = dict[str, list[Job]]
"""Figures to draw, by the part of the page that they stand in."""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Found:
    """All that a report is made from."""

    content: Content
    inside: Inside
    sections: list[Section]
    problems: list[str]
    """What could not be made, and why."""

    @property
    def tables(self) -> dict[str, pa.Table]:
        added = {name: table for section in self.sections for name, table in section.tables.items()}
        return {name: table for name, table in {**self.inside.content.tables, **added}.items() if table.num_rows}

    def jobs(self, folder: Path) -> Jobs:
        """The figures that need what was observed inside, or are a section's."""
        about = self.inside.facts()
        jobs = {
            f"inside {name}": [Job(kind, self.inside.content, folder, about) for kind in kinds]
            for name, kinds in PARTS.items()
        }
        for section in self.sections:
            known = replace(self.content, tables=self.content.tables | dict(section.tables))
            jobs[f"section {section.name}"] = [Job(kind, known, folder, section.facts) for kind in section.kinds]
        return jobs


def build(run_folder: Path) -> Path:
    """Write ``report/`` into a run folder and return its ``index.html``. What an earlier report left is replaced.

    Raises InputError where there is no run; anything that the run lacks is said in the page.
    """
    content = contents.gather(run_folder)
    target = content.run.folder / "report"
    for name in ("figures", "tables", "trials", "treatments"):
        shutil.rmtree(target / name, ignore_errors=True)
        (target / name).mkdir(parents=True)

    def gather() -> _Found:
        inside = insides.gather(content)
        return _Found(content, inside, *sections.gather(inside.content))

    first, troubles, found = _draw({"": [Job(kind, content, target / "figures") for kind in KINDS]}, gather)
    pages = Pages(found.inside, target)

    def write() -> dict[str, list[str]]:
        written = tables.write(found.tables, target / "tables")
        pages.write(written)
        return written

    figures, problems, written = _draw(found.jobs(target / "figures"), write)
    found.problems.extend([*troubles, *problems])
    page = target / "index.html"
    page.write_text(_render(found, first | figures, pages, written, target), encoding="utf-8")
    return page


def _draw(jobs: Jobs, meanwhile: Callable[[], _Result]) -> tuple[dict[str, list[Shown]], list[str], _Result]:
    """By part of the page what was drawn, what could not be, and what was done meanwhile."""
    drawn, problems, other = figure_jobs.draw([job for some in jobs.values() for job in some], meanwhile)
    each = iter(drawn)
    figures = {part: [shown for _ in some if (shown := next(each)) is not None] for part, some in jobs.items()}
    return figures, problems, other


def _render(
    found: _Found, figures: Mapping[str, list[Shown]], pages: Pages, written: Mapping[str, list[str]], folder: Path
) -> str:
    content, added = found.content, found.sections
    values = {
        "content": content,
        "run": content.run,
        "treatments": content.treatments,
        "several": len(content.treatments) > 1,
        "pages": pages,
        "answer": words.answer(content),
        "bounded": words.bounds_of_one(content),
        "each": words.each_treatment(content),
        "warnings": [*words.warnings(content), *found.problems, *(text for one in added for text in one.cautions)],
        "sections": [(one, figures[f"section {one.name}"]) for one in added],
        "slo": words.slo(content),
        "closed": content.closed,
        "figures": figures[""],
        "inside": found.inside,
        "figures_inside": {name: figures[f"inside {name}"] for name in PARTS},
        # What was observed inside has rows for each node and service of each trial: beside the page, not in it.
        "csv": {
            name: rendering.download(folder / "tables" / f"{name}.csv")
            for name in content.tables
            if "csv" in written.get(name, ())
        },
        "breaking": content.rows("breaking_points"),
        "left_out": {treatment.label for treatment in content.treatments if treatment.id in content.left_out},
        "grid": content.grid,
        "forest": _forest(content.rows("breaking_points")),
        "rates": content.rows("rates"),
        "operations": content.rows("operations"),
        "cpu": content.rows("cpu"),
        "trials": content.rows("trials"),
        "percentile": latency.percentile_column(content.slo),
        "verdicts": {v: sum(t.count(v) for t in content.treatments) for v in VERDICTS},
        "common": set(summary.trial_warnings(content.run.trials)),
        "evidence": content.evidence,
        "deployments": facts.deployments(content),
        "facts": list(facts.study(content)),
        "origin": list(facts.origin(content)),
        "repeat": facts.repeat(content),
    }
    return rendering.render("index.html.j2", written, values)


def _forest(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The common axis of the intervals in the table of capacities, in requests/s."""
    ends = [row[name] for row in rows for name in ("capacity_low", "capacity_high") if row[name]]
    return {"low": 0.95 * min(ends), "high": 1.05 * max(ends)} if ends else {}
