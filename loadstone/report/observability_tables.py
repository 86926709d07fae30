"""The columns of the page's tables of what was observed inside; a column that no row has anything for is not shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.report import format

Row = dict[str, Any]
Rows = list[Row]


@dataclass(frozen=True)
class Column:
    """``head`` is HTML; ``show`` makes text of a number, and is None where the value is a name."""

    name: str
    head: str
    show: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Shown:
    """A table of the page."""

    columns: list[Column]
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)


def shown(rows: Rows, columns: Sequence[Column], several: bool) -> Shown:
    """The table without empty columns; with the treatment where there are several."""
    named = [Column("treatment", "Treatment"), *columns] if several else list(columns)
    return Shown([column for column in named if any(row.get(column.name) is not None for row in rows)], rows)


def per_s(value: float | None) -> str:
    """Bytes per second."""
    return format.NOTHING if value is None else f"{format.size(value)}/s"


def time(rows: Rows, several: bool) -> Shown:
    """Shares of the critical path, at the highest load that held (``held_``) and above it (``broke_``)."""
    columns = [Column("service", "Service")]
    for side, head in (("held", "Share of the critical<br>path, held"), ("broke", "Share above it,<br>not held")):
        columns += [
            Column(f"{side}_critical_share", head, format.percent),
            Column(f"{side}_per_request_ms", "per request", format.milliseconds),
            Column(f"{side}_network_share", "of it in calls<br>and queues", format.percent),
        ]
    return shown(rows, columns, several)


def operations(rows: Rows, several: bool) -> Shown:
    """Spans by service, operation and what is called."""
    return shown(rows, _OPERATIONS, several)


def nodes(rows: Rows, several: bool) -> Shown:
    """Nodes, with the busy share of their CPUs."""
    for row in rows:
        row["busy"] = row["cpu_cores"] / row["cpus"] if row["cpu_cores"] is not None and row["cpus"] else None
    return shown(rows, _NODES, several)


def services(rows: Rows, several: bool) -> Shown:
    """Services, their replicas together."""
    return shown(rows, _SERVICES, several)


def cstates(rows: Rows, active: str, several: bool) -> Shown:
    """Nodes, with two columns a state: its share and how often it was entered."""
    columns = [Column("node", "Node")]
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        one = found.setdefault((row["treatment"], row["node"]), {name: row[name] for name in ("treatment", "node")})
        one |= {f"{row['state']} share": row["share"], f"{row['state']} entered": row["transitions_per_s"]}
    for state in sorted(dict.fromkeys(row["state"] for row in rows), key=lambda state: state != active):
        columns.append(Column(f"{state} share", state, format.percent))
        columns.append(Column(f"{state} entered", "entered<br>1/s", format.number))
    return shown(list(found.values()), columns, several)


def energy(rows: Rows, load: str, several: bool) -> Shown:
    """Power and energy; ``load`` is the head of the loads' column."""
    return shown(rows, [Column("load", load, format.number), *_ENERGY], several)


def accounts(rows: Rows, several: bool) -> Shown:
    """What was observed, by treatment."""
    return shown(rows, _ACCOUNTS, several)


_OPERATIONS = (
    Column("service", "Service"),
    Column("operation", "Operation"),
    Column("peer", "Calls"),
    Column("count", "Spans", format.count),
    Column("errors", "Errors", format.count),
    Column("total_p50_ms", "P50", format.milliseconds),
    Column("total_p99_ms", "P99", format.milliseconds),
    Column("exclusive_p50_ms", "Own time<br>P50", format.milliseconds),
    Column("exclusive_p99_ms", "Own time<br>P99", format.milliseconds),
)
_NODES = (
    Column("node", "Node"),
    Column("cpus", "CPUs", format.count),
    Column("busy", "Busy", format.percent),
    Column("cpu_user_cores", "User<br>cores", format.cores),
    Column("cpu_system_cores", "System<br>cores", format.cores),
    Column("cpu_irq_cores", "Interrupts<br>cores", format.cores),
    Column("cpu_iowait_cores", "I/O wait<br>cores", format.cores),
    Column("cpu_steal_cores", "Steal<br>cores", format.cores),
    Column("frequency_ghz", "GHz", format.number),
    Column("memory_used_bytes", "Memory<br>used", format.size),
    Column("context_switches_per_s", "Context<br>switches/s", format.number),
    Column("interrupts_per_s", "Inter-<br>rupts/s", format.number),
    Column("network_received_bytes_per_s", "Received", per_s),
    Column("network_transmitted_bytes_per_s", "Sent", per_s),
    Column("disk_read_bytes_per_s", "Disk<br>read", per_s),
    Column("disk_written_bytes_per_s", "Disk<br>written", per_s),
    Column("clock_offset_ms", "Clock<br>offset", format.milliseconds),
)
_SERVICES = (
    Column("service", "Service"),
    Column("tier", "Tier"),
    Column("replicas", "Replicas", format.count),
    Column("nodes", "Nodes", format.count),
    Column("cores", "Cores", format.cores),
    Column("throttled_periods_share", "Throttled<br>periods", format.percent),
    Column("throttled_share", "Throttled<br>time", format.percent),
    Column("memory_bytes", "Memory", format.size),
    Column("threads_before", "Threads<br>before", format.number),
    Column("threads_after", "after", format.number),
    Column("processes", "Processes", format.number),
    Column("network_received_bytes_per_s", "Received", per_s),
    Column("network_transmitted_bytes_per_s", "Sent", per_s),
)
_ENERGY = (
    Column("nodes", "Nodes", format.count),
    Column("package_watts", "Packages<br>W", format.number),
    Column("core_watts", "of it cores<br>W", format.number),
    Column("dram_watts", "DRAM<br>W", format.number),
    Column("watts", "Together<br>W", format.number),
    Column("joules_per_request", "Energy per<br>request, J", format.number),
)
_ACCOUNTS = (
    Column("trials", "Trials", format.count),
    Column("recorded_of", "Nodes<br>recorded", str),
    Column("readings", "Readings", format.count),
    Column("skipped", "Skipped", format.count),
    Column("requests", "Requests", format.count),
    Column("traces", "Traces", format.count),
    Column("produced", "Spans<br>produced", format.count),
    Column("received", "received", format.count),
    Column("dropped", "dropped", format.count),
    Column("refused", "refused", format.count),
)
