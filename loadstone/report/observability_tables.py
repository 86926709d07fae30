"""The columns of the page's tables of nodes, services, spans and energy; empty columns are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.report import format

Row = dict[str, Any]
Rows = list[Row]


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
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)


def shown(rows: Rows, columns: Sequence[TableColumn], several: bool) -> PageTable:
    """The table without empty columns; with the treatment where there are several."""
    named = [TableColumn("treatment", "Treatment"), *columns] if several else list(columns)
    return PageTable([column for column in named if any(row.get(column.name) is not None for row in rows)], rows)


def per_s(value: float | None) -> str:
    """Bytes per second."""
    return format.NOTHING if value is None else f"{format.size(value)}/s"


def time(rows: Rows, several: bool) -> PageTable:
    """Shares of the critical path, at the highest load that held (``held_``) and above it (``broke_``)."""
    columns = [TableColumn("service", "Service")]
    for side, head in (("held", "Share of the critical<br>path, held"), ("broke", "Share above it,<br>not held")):
        columns += [
            TableColumn(f"{side}_critical_share", head, format.percent),
            TableColumn(f"{side}_per_request_ms", "per request", format.milliseconds),
            TableColumn(f"{side}_network_share", "of it in calls<br>and queues", format.percent),
        ]
    return shown(rows, columns, several)


def operations(rows: Rows, several: bool) -> PageTable:
    """Spans by service, operation and what is called."""
    return shown(rows, _OPERATIONS, several)


def nodes(rows: Rows, several: bool) -> PageTable:
    """Nodes, with the busy share of their CPUs."""
    for row in rows:
        row["busy"] = row["cpu_cores"] / row["cpus"] if row["cpu_cores"] is not None and row["cpus"] else None
    return shown(rows, _NODES, several)


def services(rows: Rows, several: bool) -> PageTable:
    """Services, their replicas together."""
    return shown(rows, _SERVICES, several)


def cstates(rows: Rows, active: str, several: bool) -> PageTable:
    """Nodes, with two columns a state: its share and how often it was entered."""
    columns = [TableColumn("node", "Node")]
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        cells = found.setdefault((row["treatment"], row["node"]), {name: row[name] for name in ("treatment", "node")})
        cells |= {f"{row['state']} share": row["share"], f"{row['state']} entered": row["transitions_per_s"]}
    for state in sorted(dict.fromkeys(row["state"] for row in rows), key=lambda state: state != active):
        columns.append(TableColumn(f"{state} share", state, format.percent))
        columns.append(TableColumn(f"{state} entered", "entered<br>1/s", format.number))
    return shown(list(found.values()), columns, several)


def energy(rows: Rows, load: str, several: bool) -> PageTable:
    """Power and energy; ``load`` is the head of the loads' column."""
    return shown(rows, [TableColumn("load", load, format.number), *_ENERGY], several)


def accounts(rows: Rows, several: bool) -> PageTable:
    """Numbers of trials, readings and spans, by treatment."""
    return shown(rows, _ACCOUNTS, several)


_OPERATIONS = (
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
_NODES = (
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
_SERVICES = (
    TableColumn("service", "Service"),
    TableColumn("tier", "Tier"),
    TableColumn("replicas", "Replicas", format.count),
    TableColumn("nodes", "Nodes", format.count),
    TableColumn("cores", "Cores", format.cores),
    TableColumn("throttled_periods_share", "Throttled<br>periods", format.percent),
    TableColumn("throttled_share", "Throttled<br>time", format.percent),
    TableColumn("memory_bytes", "Memory", format.size),
    TableColumn("threads_before", "Threads<br>before", format.number),
    TableColumn("threads_after", "after", format.number),
    TableColumn("processes", "Processes", format.number),
    TableColumn("network_received_bytes_per_s", "Received", per_s),
    TableColumn("network_transmitted_bytes_per_s", "Sent", per_s),
)
_ENERGY = (
    TableColumn("nodes", "Nodes", format.count),
    TableColumn("package_watts", "Packages<br>W", format.number),
    TableColumn("core_watts", "of it cores<br>W", format.number),
    TableColumn("dram_watts", "DRAM<br>W", format.number),
    TableColumn("watts", "Together<br>W", format.number),
    TableColumn("joules_per_request", "Energy per<br>request, J", format.number),
)
_ACCOUNTS = (
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
