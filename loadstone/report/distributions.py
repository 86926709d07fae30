"""The page's part of chosen spans: single runs, histograms, distances between runs."""

from __future__ import annotations

from loadstone.analysis.environments import FACTOR
from loadstone.model import papers
from loadstone.model.base import did_you_mean
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import distributions as figure
from loadstone.report.figures import levels
from loadstone.report.figures.kinds import Kind
from loadstone.report.figures.reproduction import shown_load
from loadstone.report.section import Section

_LEVELS = Kind(
    "distribution-levels",
    levels.accuracy,
    "Distances between runs over the levels of a factor",
    "Of {factor}: mean, least and greatest over all pairs of a run with that level and a run of the baseline's; at the "
    "baseline's level, over pairs of its own runs. SciPy caps the p-value of Anderson-Darling (AD) to 0.001 to 0.25, "
    "and that of Kolmogorov-Smirnov (KS) is asymptotic; both take requests of a run for independent.{at}{spans}",
    "distribution_levels",
    wide=True,
)
_RANGES = Kind(
    "distribution-ranges",
    figure.ranges,
    "Distances between runs of a treatment",
    "Over all pairs of a treatment's runs: least, mean (dot) and greatest.{at}{spans}",
    "distribution_ranges",
    wide=True,
)
_RUNS = Kind(
    "distribution-runs",
    figure.runs,
    "Single runs",
    "Each line is one run, the first {runs} of a treatment. Each further nine has the same room; a line ends at the "
    "last percentile that the smallest run of its treatment can show.{at}{panels}",
    "distribution_runs",
    wide=True,
)
_HISTOGRAMS = Kind(
    "distribution-histograms",
    figure.histograms,
    "Histograms of best-fit runs",
    "One run of each treatment: the one with the smallest sum of AD to the others. The axis ends at the 99th "
    "percentile, of the treatment where that is greatest.{at}{panels}",
    "distribution_histograms",
    wide=True,
)


def gather(content: Content) -> Section | None:
    """None where the study names no span, varies no environment, and reproduces none that compared best-fit runs."""
    name, named = content.run.study.reproduces, content.run.study.report.spans
    reproduces = name in papers.names() and papers.paper(name or "").method == "best-fit-run"
    if not (named or reproduces or any(FACTOR in row.factors for row in content.run.trials)):
        return None
    found = content.best_fits.chosen
    if not found.curves:
        return _nothing(content) if named or reproduces else None
    loads = {(row.rate, row.clients) for row in found.curves}
    load = shown_load(found.curves)
    panels = figure.panel_count(found.curves)
    spans = len(found.spans)
    return Section(
        name="distributions",
        title="Runs of chosen spans" if named else "Runs of all requests",
        tables=found.tables,
        kinds=(_RUNS, _HISTOGRAMS, _RANGES, _LEVELS),
        shown={"spans": found.spans},
        cautions=_cautions(content),
        facts={
            "at": f" At {format.load_of(*load)}." if load is not None and len(loads) > 1 else "",
            "runs": str(figure.MOST_RUNS),
            "panels": _first(figure.MOST_PANELS, panels, "pairs"),
            "spans": _first(levels.MOST_SPANS, spans, "spans"),
            "factor": found.levels[0].factor if found.levels else "",
        },
    )


def _first(most: int, count: int, noun: str) -> str:
    return f" The first {most} of {count} {noun} are drawn." if count > most else ""


def _nothing(content: Content) -> Section:
    return Section("distributions", "Runs of chosen spans", shown={"spans": []}, cautions=_cautions(content))


def _cautions(content: Content) -> list[str]:
    """Names in ``report.spans`` that no span of the run has."""
    known = list(dict.fromkeys(row.span for row in content.best_fits.fits))
    return [
        f"report.spans: no run at a fixed load has {name!r}{did_you_mean(name, known)}"
        for name in content.best_fits.chosen.unknown
    ]
