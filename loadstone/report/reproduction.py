"""The page's part of the fifth study's comparison: best-fit runs of each span, in the published shape."""

from __future__ import annotations

from loadstone.model import papers
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import reproduction as figure
from loadstone.report.figures.kinds import Kind
from loadstone.report.figures.names import short
from loadstone.report.section import Section

MOST_SPANS = 40
"""In the page's table; all stand in the CSV."""

_KIND = Kind(
    "reproduction-percentiles",
    figure.percentiles,
    "Percentile distributions of the best-fit runs",
    "Lines are best-fit runs{at}, bands reach from the lowest to the highest run of a treatment at each percentile. "
    "Each further nine has the same room; a line ends at the last percentile that its smallest run can show. {which}",
    "reproduction_percentiles",
    wide=True,
)


def gather(content: Content) -> Section | None:
    """None where the study reproduces none that compared so."""
    name = content.run.study.reproduces
    if name is None or name not in papers.names() or papers.paper(name).method != "best-fit-run":
        return None
    found = content.best_fits
    rows = found.fits
    load = figure.shown_load(rows)
    at = "" if load is None else f" at {format.load_of(*load)}"
    here = [row for row in rows if (row.rate, row.clients) == load]
    spans = list(dict.fromkeys(row.span for row in here))
    loads = len({(row.rate, row.clients) for row in rows})
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    shown = {
        "by": papers.paper(name).by,
        "at": at,
        "loads": loads,
        "rows": [(names[row.treatment], row) for row in here if row.span in spans[:MOST_SPANS]],
        "more": max(0, len(spans) - MOST_SPANS),
        "baseline": next((row.treatment for row in here if row.baseline), ""),
        "fewest": min((row.runs for row in here), default=0),
        "search": content.run.searches,
    }
    most = f"Shown: the {figure.MOST_SPANS} spans that take most time." if len(spans) > figure.MOST_SPANS else ""
    return Section(
        name="reproduction",
        title="Best-fit runs",
        tables=found.tables,
        kinds=(_KIND,),
        shown=shown,
        cautions=found.warnings,
        facts={"at": at if loads > 1 else "", "which": most},
    )
