"""The figures of a report: how each is drawn, what it is called, and what it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from loadstone.report.content import Content
from loadstone.report.figures import bars, cpu, curves, grids, load, operations, reference, spectrum


@dataclass(frozen=True)
class Kind:
    """One kind of figure: how it is drawn, its title, what it shows, and the table that it is drawn from."""

    name: str
    draw: Callable[[Content], Figure | None]
    title: str
    caption: str
    table: str
    closed: tuple[str, str] | None = None
    """Title and caption in a closed loop; None where they are the same."""
    wide: bool = False
    """Whether it spans the width of the page."""

    def texts(self, content: Content, **facts: str) -> tuple[str, str]:
        """Title and caption; ``facts`` fill their placeholders, such as ``{window}``."""
        title, caption = self.closed if self.closed is not None and content.closed else (self.title, self.caption)
        return title.format(percentile=content.percentile[1], beside=content.beside), caption.format(**facts)


KINDS = (
    Kind(
        "latency",
        load.latency,
        "{percentile} against offered load",
        "Every trial is one marker. Latency counts from the intended send time, over every scheduled request. At fixed "
        "loads a line goes through the means over repetitions with its 95 % band; the treatment's marker is at the "
        "median. An arrow at the axis is a trial that broke and was stopped (grey: invalid): it has no latency. One "
        "above it is a trial in which too few requests were answered: of its percentile a lower bound is known. "
        "The SLO's limit of this percentile is drawn, not the others that it may have. "
        "A vertical line with its band is a capacity, where 95 % of trials hold, with its 95 % interval.",
        "load",
        (
            "{percentile} against clients (closed loop)",
            "Every trial is one marker. A line goes through the means over repetitions with its 95 % band; the "
            "treatment's marker is at the median. A client that waits for a slow answer sends fewer requests: do not "
            "compare these latencies with those of an open loop.",
        ),
    ),
    Kind(
        "latency-close",
        curves.close,
        "{percentile} against offered load, close up",
        "As before, on a linear axis up to a little above the SLO's limit (without one up to three times the lowest "
        "median) and to the first load above it.",
        "curves",
    ),
    Kind(
        "mean-latency",
        curves.means,
        "Mean latency against offered load",
        "The mean over a trial's correct answers alone, unlike percentiles: of trials a line through the geometric "
        "means with its 95 % band, and a marker at the median.",
        "curves",
    ),
    Kind(
        "grid",
        grids.percentiles,
        "{percentile} over two numbers that the study varies",
        "Median over the trials of each pair, in ms. Darker is slower.",
        "curves",
        wide=True,
    ),
    Kind(
        "grid-mean",
        grids.means,
        "Mean latency over two numbers that the study varies",
        "Median over the trials of each pair, in ms. Darker is slower.",
        "curves",
        wide=True,
    ),
    Kind(
        "bars",
        bars.at_loads,
        "Treatments beside each other",
        "Means over trials with their 95 % intervals. Not completed: of the requests that were scheduled, those "
        "without a good answer when the window ended. A place without a bar is a treatment of which too few requests "
        "were answered for that latency.",
        "curves",
        wide=True,
    ),
    Kind(
        "breaking-bars",
        bars.breaking,
        "Breaking points beside each other",
        "With the 95 % interval of each. Where the search has no estimate yet, only the range that it lies in, or an "
        "arrow from its one known end.",
        "breaking_points",
        wide=True,
    ),
    Kind(
        "hold",
        load.holding,
        "Probability that a trial holds",
        "The curve is estimated from all valid trials; the band contains it with 95 % probability at each load. Dots "
        "above are full trials that held, crosses below full ones that did not; pale ones are of times in which the "
        "system sustained less or more than usual. The curve is of its usual state: 95 % at the capacity, 50 % at "
        "the breaking point, each with its 95 % interval.",
        "hold",
    ),
    Kind(
        "throughput",
        load.throughput,
        "Throughput against offered load",
        "Requests completed within the measured window, by trials that ran to its end: what is missing to the line "
        "failed or was answered later. At fixed loads a line goes through the means over repetitions with its 95 % "
        "band; the treatment's marker is at the median. An arrow at the axis is a trial that broke and was stopped "
        "(grey: invalid): it has none.",
        "load",
        (
            "Throughput against clients (closed loop)",
            "Requests completed within the measured window. Every trial is one marker; a line goes through the means "
            "over repetitions with its 95 % band, and the treatment's marker is at the median.",
        ),
    ),
    Kind(
        "dropped",
        curves.dropped,
        "Dropped requests against offered load",
        "Of the requests that were scheduled in the window those without a good answer in time; an answer after the "
        "window's end counts as good. Means over trials with their 95 % band, a marker at the median.",
        "curves",
    ),
    Kind(
        "unfinished",
        curves.unfinished,
        "Not completed in the window against offered load",
        "Of the requests that were scheduled in the window those without a good answer when it ended: what "
        "wrk2 does not count as completed. Means over trials with their 95 % band, a marker at the median.",
        "curves",
    ),
    Kind(
        "spectrum",
        spectrum.spectrum,
        "Latency over all percentiles",
        "At the trials nearest to 50, 80 and 95 % of the breaking point (where there is none, of the highest load that "
        "held, or of the lowest where none did). Each further nine has the same room; a line ends at the last "
        "percentile that its requests can show.",
        "spectrum",
        (
            "Latency over all percentiles (closed loop)",
            "At the trials nearest to 50, 80 and 95 % of the most clients that held, or had no SLO. Each further nine "
            "has the same room; a line ends at the last percentile that its requests can show.",
        ),
    ),
    Kind(
        "operations",
        operations.operations,
        "Latency by operation {beside}",
        "From the median (bar) to P99 (marker) of each operation, in the trial of the highest load that held (of a "
        "search a full one, where there is one) and in that of the lowest load from there on that did not hold and ran "
        "to its end. An operation of which too few requests were answered for a P99 is left out.",
        "operations",
        (
            "Latency by operation (closed loop)",
            "From the median (bar) to P99 (marker) of each operation, in the trial of the most clients that held, or "
            "had no SLO, and in that of the fewest from there on that did not.",
        ),
    ),
    Kind(
        "cpu",
        cpu.cpu,
        "Where the CPU time goes",
        "Cores used by each service, all replicas together, at the highest load that held (of a search in a full "
        "trial, where there is one), from the kernel's cgroup counters. A limit is drawn where it is within twice the "
        "busiest; at most the 20 busiest services are drawn, and none below 1 % of the busiest: the table has all.",
        "cpu",
        (
            "Where the CPU time goes (closed loop)",
            "Cores used by each service, all replicas together, with the most clients that held, or had no SLO, from "
            "the kernel's cgroup counters. A limit is drawn where it is within twice the busiest; at most the 20 "
            "busiest services are drawn, and none below 1 % of the busiest: the table has all.",
        ),
    ),
    Kind(
        "reference",
        reference.course,
        "Speed of the machine",
        "A fixed computation, timed before and after every trial on the machine that generates the load: where it "
        "takes longer, the machine is slower. The line is the median of three trials of the shorter of both times.",
        "reference",
    ),
)
