"""The page's part of environments: what treatments really ran in, and their latency over all percentiles."""

from __future__ import annotations

from loadstone.analysis import environments as analysis
from loadstone.analysis.comparison import comparable
from loadstone.analysis.environments import EnvironmentPercentileRow, EnvironmentRow
from loadstone.analysis.schema import tables
from loadstone.report.content import Content
from loadstone.report.figures import environments as figure
from loadstone.report.figures.kinds import Kind
from loadstone.report.section import Section

_KIND = Kind(
    "environments",
    figure.curves,
    "Latency over all percentiles by environment",
    "Geometric means over runs, with their 95 % intervals as bands{which}. Each further nine has the same room; a line "
    "ends at the last percentile that all runs can show.",
    "environment_percentiles",
    wide=True,
)


def gather(content: Content) -> Section | None:
    """None where the study does not vary the environment."""
    if not any(analysis.FACTOR in row.factors for row in content.run.trials):
        return None
    found, curves = analysis.environments(content.run), analysis.percentiles(content.run)
    panels = len(figure.panels_of(curves))
    return Section(
        name="environments",
        title="Environments",
        tables=tables((EnvironmentRow, found), (EnvironmentPercentileRow, curves)),
        kinds=(_KIND,) if curves else (),
        shown={"rows": found, "compared": comparable(content.run)},
        facts={"which": f", of the first {figure.MOST} loads" if panels > figure.MOST else ""},
    )
