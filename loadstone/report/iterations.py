"""The page's part of iterations: what clients of closed loops took for each number of requests."""

from __future__ import annotations

from loadstone.analysis import iterations
from loadstone.analysis.iterations import IterationPoint, IterationTotals
from loadstone.analysis.schema import tables
from loadstone.report.content import Content
from loadstone.report.figures import iterations as figure
from loadstone.report.figures.kinds import Kind
from loadstone.report.figures.names import short
from loadstone.report.section import Section

_KIND = Kind(
    "iterations",
    figure.durations,
    "Time of an iteration (closed loop)",
    "From when an iteration's first request was due to the outcome of its last{which}: the mean over clients "
    "and trials; the band is from the fastest client to the slowest.",
    "iterations",
    wide=True,
)


def gather(content: Content) -> Section | None:
    """None where no trial ended by its number of requests."""
    points, totals = iterations.points(content.run), iterations.totals(content.run)
    if not totals:
        return None
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    treatments = {row.treatment for row in points}
    several = any(row.iteration > 1 for row in points)
    return Section(
        name="iterations",
        title="Iterations",
        tables=tables((IterationPoint, points), (IterationTotals, totals)),
        kinds=(_KIND,) if several else (),
        shown={"totals": [(names[row.treatment], row) for row in totals]},
        facts={"which": f", of the first {figure.MOST} treatments" if len(treatments) > figure.MOST else ""},
    )
