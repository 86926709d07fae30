"""The report: one page that works alone, with its figures as SVG and PDF and its tables as CSV beside it."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from loadstone.analysis import latency, results, summary
from loadstone.report import content as contents
from loadstone.report import facts, format, sections, tables, words
from loadstone.report import inside as insides
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.inside_kinds import PARTS
from loadstone.report.figures.kinds import KINDS, Kind
from loadstone.report.inline import inline
from loadstone.report.inside import Inside
from loadstone.report.section import Section


@dataclass(frozen=True)
class Shown:
    """A figure in the page."""

    kind: Kind
    title: str
    caption: str
    svg: Markup


def build(run_folder: Path) -> Path:
    """Write ``report/`` into a run folder and return its ``index.html``. What an earlier report left is replaced.

    Raises InputError where there is no run; anything that the run lacks is said in the page.
    """
    content = contents.gather(run_folder)
    inside = insides.gather(content)
    added = list(sections.gather(content))
    target = content.run.folder / "report"
    for name in ("figures", "tables"):
        shutil.rmtree(target / name, ignore_errors=True)
        (target / name).mkdir(parents=True)
    every = {**inside.content.tables, **{name: table for one in added for name, table in one.tables.items()}}
    written = {name: tables.to_csv(table) for name, table in every.items() if table.num_rows}
    for name, text in written.items():
        (target / "tables" / f"{name}.csv").write_text(text, encoding="utf-8")
    if searched := content.rows("breaking_points"):
        latex = tables.breaking_points_latex(searched)
        (target / "tables" / "breaking_points.tex").write_text(latex, encoding="utf-8")
    if content.grid is not None:
        latex = tables.grid_latex(content.grid)
        (target / "tables" / "grid.tex").write_text(latex, encoding="utf-8")
    figures = list(_figures(content, KINDS, target / "figures"))
    parts = {
        name: list(_figures(inside.content, kinds, target / "figures", inside.facts())) for name, kinds in PARTS.items()
    }
    drawn = [(one, list(_figures(_with(content, one), one.kinds, target / "figures", one.facts))) for one in added]
    # What was observed inside has rows for each node and service of each trial: beside the page, not in it.
    files = {name: text for name, text in written.items() if name in content.tables}
    page = target / "index.html"
    page.write_text(_render(content, figures, files, inside, parts, drawn), encoding="utf-8")
    return page


def _with(content: Content, section: Section) -> Content:
    return replace(content, tables=content.tables | dict(section.tables))


def _figures(
    content: Content, kinds: Sequence[Kind], folder: Path, about: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Shown]:
    for kind in kinds:
        with style.styled():
            figure = kind.draw(content)
            if figure is None:
                continue
            svg = style.save(figure, "svg")
            (folder / f"{kind.name}.svg").write_bytes(svg)
            (folder / f"{kind.name}.pdf").write_bytes(style.save(figure, "pdf"))
        title, caption = kind.words(content, **about)
        # The figure comes from our own drawing code, which escapes what users named.
        yield Shown(kind, title, caption, Markup(inline(svg, kind.name, f"{title}. {caption}")))


def _render(
    content: Content,
    figures: list[Shown],
    files: dict[str, str],
    inside: Inside,
    parts: dict[str, list[Shown]],
    drawn: list[tuple[Section, list[Shown]]],
) -> str:
    environment = Environment(
        loader=PackageLoader("loadstone.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": format.number,
        "count": format.count,
        "cores": format.cores,
        "rate": format.rate,
        "load": format.load,
        "ms": format.milliseconds,
        "percent": format.percent,
        "duration": format.duration,
        "size": format.size,
        "plural": format.plural,
        "digest": format.digest,
        "bold": _bold,
    }
    environment.globals |= {"interval": format.interval}
    return environment.get_template("index.html.j2").render(
        content=content,
        run=content.run,
        treatments=content.treatments,
        several=len(content.treatments) > 1,
        answer=words.answer(content),
        each=words.each_treatment(content),
        warnings=[*words.warnings(content), *(text for section, _ in drawn for text in section.cautions)],
        sections=drawn,
        slo=words.slo(content),
        closed=content.closed,
        figures=figures,
        inside=inside,
        figures_inside=parts,
        csv={name: _download(text) for name, text in files.items()},
        breaking=content.rows("breaking_points"),
        grid=content.grid,
        forest=_forest(content.rows("breaking_points")),
        rates=content.rows("rates"),
        operations=content.rows("operations"),
        cpu=content.rows("cpu"),
        trials=content.rows("trials"),
        percentile=latency.percentile_column(content.slo),
        verdicts={v: sum(t.count(v) for t in content.treatments) for v in results.VERDICTS},
        common=set(summary.trial_warnings(content.run.trials)),
        evidence=content.evidence,
        deployments=facts.deployments(content),
        facts=list(facts.study(content)),
        origin=list(facts.origin(content)),
        repeat=facts.repeat(content),
    )


def _bold(text: str) -> Markup:
    """``**word**`` in bold, the rest escaped."""
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text))))


def _download(text: str) -> str:
    """The table inside the page, so that its link works wherever the page is."""
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()


def _forest(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The common axis of the intervals in the table of breaking points, in requests/s."""
    ends = [row[name] for row in rows for name in ("breaking_point_low", "breaking_point_high") if row[name]]
    return {"low": 0.95 * min(ends), "high": 1.05 * max(ends)} if ends else {}
