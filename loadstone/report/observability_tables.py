"""The columns of the page's tables of nodes, services, spans and energy; empty columns are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.analysis.known import total
from loadstone.analysis.metrics.gather import ObservedRow
from loadstone.analysis.metrics.power import ACTIVE, CstateRow
from loadstone.analysis.traced_rows import TracedService
from loadstone.report import format


@dataclass(frozen=True)
class TableColumn:
    """``head`` is HTML; ``show`` formats a number; None for names."""

    name: str
    head: str
    show: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class PageTable:
    """A table of the page."""

    columns: list[TableColumn]
    rows: list[list[Any]]
    """The values of the columns."""

    def __len__(self) -> int:
        return len(self.rows)


def shown(rows: Sequence[object], columns: Sequence[TableColumn], several: bool) -> PageTable:
    """The table without empty columns; with the treatment where there are several. Columns are attributes of a row."""
    named = [TableColumn("treatment", "Treatment"), *columns] if several else columns
    kept = [column for column in named if any(getattr(row, column.name) is not None for row in rows)]
    return PageTable(kept, [[getattr(row, column.name) for column in kept] for row in rows])


def per_s(value: float | None) -> str:
    """Bytes per second."""
    return format.NOTHING if value is None else f"{format.size(value)}/s"


@dataclass
class TimeRow:
    """A service's part of the critical path at the highest load that held, and at one that did not."""

    treatment: str
    service: str
    held_critical_share: float | None = None
    held_per_request_ms: float | None = None
    held_network_share: float | None = None
    broke_critical_share: float | None = None
    broke_per_request_ms: float | None = None
    broke_network_share: float | None = None

    def add(self, trial: TracedService, broke: bool) -> None:
        """Take a trial's part, which held or broke."""
        side = "broke" if broke else "held"
        setattr(self, f"{side}_critical_share", trial.critical_share)
        setattr(self, f"{side}_per_request_ms", trial.per_request_ms)
        setattr(self, f"{side}_network_share", trial.network_s / trial.critical_s if trial.critical_s else None)


def time(rows: Sequence[TimeRow], several: bool) -> PageTable:
    """Shares of the critical path."""
    columns = [TableColumn("service", "Service")]
    for side, head in (("held", "Share of the critical<br>path, held"), ("broke", "Share where it<br>did not hold")):
        columns += [
            TableColumn(f"{side}_critical_share", head, format.percent),
            TableColumn(f"{side}_per_request_ms", "per request", format.milliseconds),
            TableColumn(f"{side}_network_share", "of it in calls<br>and queues", format.percent),
        ]
    return shown(rows, columns, several)


def cstates(rows: Sequence[CstateRow], several: bool) -> PageTable:
    """Nodes, with two columns a state: its share and how often it was entered."""
    states = sorted(dict.fromkeys(row.state for row in rows), key=lambda state: state != ACTIVE)
    columns = [TableColumn("treatment", "Treatment")] if several else []
    columns.append(TableColumn("node", "Node"))
    for state in states:
        columns.append(TableColumn(state, state, format.percent))
        columns.append(TableColumn(state, "entered<br>1/s", format.number))
    found: dict[tuple[str, str], dict[str, CstateRow]] = {}
    for row in rows:
        found.setdefault((row.treatment, row.node), {})[row.state] = row
    cells: list[list[Any]] = []
    for (treatment, node), by_state in found.items():
        cells.append([treatment, node] if several else [node])
        for state in states:
            here = by_state.get(state)
            cells[-1] += [here.share, here.transitions_per_s] if here is not None else [None, None]
    kept = [place for place in range(len(columns)) if any(row[place] is not None for row in cells)]
    return PageTable([columns[place] for place in kept], [[row[place] for place in kept] for row in cells])


@dataclass(frozen=True)
class AccountRow:
    """What was observed of a treatment's trials: sums, None where no trial has the number."""

    treatment: str
    trials: int
    requests: int | None
    traces: int | None
    produced: int | None
    received: int | None
    dropped: int | None
    refused: int | None
    readings: int | None
    skipped: int | None
    recorded_of: str
    """Nodes that were recorded, of all, in the trial with the fewest."""


def account(treatment: str, rows: Sequence[ObservedRow]) -> AccountRow:
    """The sums over trials; None where any trial does not know its part."""
    recorded, nodes = min(((row.recorded, row.nodes) for row in rows), default=(0, 0))
    return AccountRow(
        treatment=treatment,
        trials=len(rows),
        requests=total(row.requests for row in rows),
        traces=total(row.traces for row in rows),
        produced=total(row.produced for row in rows),
        received=total(row.received for row in rows),
        dropped=total(row.dropped for row in rows),
        refused=total(row.refused for row in rows),
        readings=total(row.readings for row in rows),
        skipped=total(row.skipped for row in rows),
        recorded_of=f"{recorded} of {nodes}",
    )


OPERATIONS = (
    TableColumn("service", "Service"),
    TableColumn("operation", "Operation"),
    TableColumn("peer", "Calls"),
    TableColumn("count", "Spans", format.count),
    TableColumn("errors", "Errors", format.count),
    TableColumn("total_p50_ms", "P50", format.milliseconds),
    TableColumn("total_p99_ms", "P99", format.milliseconds),
    TableColumn("exclusive_p50_ms", "Own time<br>P50", format.milliseconds),
    TableColumn("exclusive_p99_ms", "Own time<br>P99", format.milliseconds),
)
NODES = (
    TableColumn("node", "Node"),
    TableColumn("cpus", "CPUs", format.count),
    TableColumn("busy", "Busy", format.percent),
    TableColumn("cpu_user_cores", "User<br>cores", format.cores),
    TableColumn("cpu_system_cores", "System<br>cores", format.cores),
    TableColumn("cpu_irq_cores", "Interrupts<br>cores", format.cores),
    TableColumn("cpu_iowait_cores", "I/O wait<br>cores", format.cores),
    TableColumn("cpu_steal_cores", "Steal<br>cores", format.cores),
    TableColumn("frequency_ghz", "GHz", format.number),
    TableColumn("memory_used_bytes", "Memory<br>used", format.size),
    TableColumn("context_switches_per_s", "Context<br>switches/s", format.number),
    TableColumn("interrupts_per_s", "Inter-<br>rupts/s", format.number),
    TableColumn("network_received_bytes_per_s", "Received", per_s),
    TableColumn("network_transmitted_bytes_per_s", "Sent", per_s),
    TableColumn("disk_read_bytes_per_s", "Disk<br>read", per_s),
    TableColumn("disk_written_bytes_per_s", "Disk<br>written", per_s),
    TableColumn("clock_offset_ms", "Clock<br>offset", format.milliseconds),
)
GUESTS = (
    TableColumn("node", "Guest"),
    TableColumn("host_cores", "Cores of<br>its QEMU", format.cores),
    TableColumn("guest_cores", "that it<br>counted", format.cores),
    TableColumn("overhead_cores", "over-<br>head", format.cores),
    TableColumn("host_memory_bytes", "Memory of<br>its QEMU", format.size),
    TableColumn("guest_memory_bytes", "that it<br>used", format.size),
    TableColumn("overhead_memory_bytes", "over-<br>head", format.size),
    TableColumn("host_switches_per_s", "Context switches/s<br>of the host", format.number),
    TableColumn("guest_switches_per_s", "of the<br>guest", format.number),
)
SERVICES = (
    TableColumn("service", "Service"),
    TableColumn("tier", "Tier"),
    TableColumn("replicas", "Replicas", format.count),
    TableColumn("nodes", "Nodes", format.count),
    TableColumn("cores", "Cores", format.cores),
    TableColumn("throttled_periods_share", "Throttled<br>periods", format.percent),
    TableColumn("throttled_share", "Throttled<br>time", format.percent),
    TableColumn("memory_bytes", "Memory", format.size),
    TableColumn("threads_before", "Threads<br>before", format.number),
    TableColumn("threads", "mean", format.number),
    TableColumn("threads_after", "after", format.number),
    TableColumn("processes", "Processes", format.number),
    TableColumn("block_read_bytes_per_s", "Block I/O<br>read", per_s),
    TableColumn("block_written_bytes_per_s", "written", per_s),
    TableColumn("network_received_bytes_per_s", "Received", per_s),
    TableColumn("network_transmitted_bytes_per_s", "Sent", per_s),
)
ENERGY = (
    TableColumn("nodes", "Nodes", format.count),
    TableColumn("package_watts", "Packages<br>W", format.number),
    TableColumn("core_watts", "of it cores<br>W", format.number),
    TableColumn("dram_watts", "DRAM<br>W", format.number),
    TableColumn("watts", "Together<br>W", format.number),
    TableColumn("joules_per_request", "Energy per<br>request, J", format.number),
)
ACCOUNTS = (
    TableColumn("trials", "Trials", format.count),
    TableColumn("recorded_of", "Nodes<br>recorded", str),
    TableColumn("readings", "Readings", format.count),
    TableColumn("skipped", "Skipped", format.count),
    TableColumn("requests", "Requests", format.count),
    TableColumn("traces", "Traces", format.count),
    TableColumn("produced", "Spans<br>produced", format.count),
    TableColumn("received", "received", format.count),
    TableColumn("dropped", "dropped", format.count),
    TableColumn("refused", "refused", format.count),
)
