"""The page's part of nodes over time: mean and deviation of one-minute values, and the errors of their clocks."""

from __future__ import annotations

from loadstone.analysis.metrics import minutes
from loadstone.analysis.metrics.clock_errors import ClockErrorRow
from loadstone.analysis.metrics.minutes import MinuteRow, SystemRow
from loadstone.analysis.schema import tables
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import clocks
from loadstone.report.figures.kinds import Kind
from loadstone.report.figures.names import short
from loadstone.report.figures.reproduction import shown_load
from loadstone.report.section import Section

_CLOCKS = Kind(
    "clock-errors",
    clocks.errors,
    "Errors of the nodes' clocks over time",
    "The most that a clock may be off by the estimate of its chronyd (offset, root dispersion and half of the root "
    "delay): the largest of each ten seconds in which a trial was recorded.{nodes}",
    "metrics_clocks",
    wide=True,
)
MOST_ROWS = 24
"""In the page's table; all stand in the CSV."""
QUANTITIES = {
    "memory_programs_bytes": ("Memory of<br>programs, GB", 1e-9),
    "memory_occupied_bytes": ("Memory<br>in use, GB", 1e-9),
    "cpu_system_percent": ("CPU system,<br>% of a core", 1.0),
    "cpu_user_percent": ("CPU user,<br>% of a core", 1.0),
    "cpu_iowait_percent": ("CPU iowait,<br>% of a core", 1.0),
    "network_received_bytes_per_s": ("Received,<br>MB/s", 1e-6),
    "network_transmitted_bytes_per_s": ("Sent,<br>MB/s", 1e-6),
    "context_switches_per_s": ("Context<br>switches, 1/s", 1.0),
    "interrupts_per_s": ("Interrupts,<br>1/s", 1.0),
}
"""Head and scale by column."""


def gather(content: Content) -> Section | None:
    """None where no node was recorded at a fixed load."""
    rows, errors = minutes.system(content.rows(MinuteRow)), content.rows(ClockErrorRow)
    if not rows and not errors:
        return None
    load = shown_load(rows)
    here = [row for row in rows if (row.rate, row.clients) == load]
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    loads = len({(row.rate, row.clients) for row in rows})
    nodes = len({row.node for row in errors})
    return Section(
        name="system",
        title="Nodes over time",
        tables=tables((SystemRow, rows), (ClockErrorRow, errors)),
        kinds=(_CLOCKS,) if errors else (),
        shown={
            "heads": [head for head, _ in QUANTITIES.values()],
            "rows": [(names[row.treatment], row, _cells(row)) for row in here[:MOST_ROWS]],
            "more": max(0, len(here) - MOST_ROWS),
            "at": f" at {format.load_of(*load)}" if load is not None and loads > 1 else "",
            "seconds": sorted({round(row.seconds) for row in here}),
        },
        facts={"nodes": f" The {clocks.MOST} of {nodes} nodes with the largest." if nodes > clocks.MOST else ""},
        explains=True,
    )


def _cells(row: SystemRow) -> list[tuple[float | None, str]]:
    """By quantity the mean, and the mean with the deviation as text."""
    found = []
    for column, (_, scale) in QUANTITIES.items():
        mean, deviation = getattr(row, column), getattr(row, f"{column}_sd")
        text = format.number(None if mean is None else scale * mean)
        found.append((mean, text if deviation is None else f"{text} ± {format.number(scale * deviation)}"))
    return found
