"""The metrics of all trials of a run: one table for nodes, replicas, services, C-states and power each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from loadstone.analysis.metrics import network, nodes, power, replicas
from loadstone.analysis.metrics.windows import WindowValues, measure, read
from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import Row, load_of
from loadstone.model.records import Observed, Reading, SpanCounts

_TRIAL: list[tuple[str, pa.DataType]] = [
    *((name, pa.string()) for name in ("trial_id", "treatment", "phase")),
    ("rate", pa.float64()),
    ("clients", pa.int64()),
    ("load", pa.float64()),
    ("verdict", pa.string()),
]
_REPLICA = "replica:"
_BY_NAME = (_REPLICA, "network:")
"""Families of metrics that are distinguished by name only."""
_SPANS = (
    "requests",
    "traces",
    "roots",
    "produced",
    "received",
    "written",
    "dropped",
    "refused",
    "unreadable",
    "unread",
)
_OBSERVED: list[tuple[str, pa.DataType]] = [
    ("sample", pa.float64()),
    *((name, pa.int64()) for name in (*_SPANS, "nodes", "recorded", "readings", "skipped")),
]
SCHEMAS: dict[str, pa.Schema] = {
    name: pa.schema([*_TRIAL, *columns])
    for name, columns in {
        "metrics_nodes": nodes.COLUMNS,
        "metrics_replicas": replicas.COLUMNS,
        "metrics_services": replicas.OF_SERVICES,
        "metrics_cstates": power.CSTATES,
        "metrics_power": power.POWER,
        "metrics_energy": power.ENERGY,
        "metrics_network": network.COLUMNS,
        "metrics_between": network.BETWEEN,
        "observed": _OBSERVED,
    }.items()
}


@dataclass(frozen=True)
class MetricTables:
    """``tables`` by name, one row a trial and node, replica, ... Loads as in ``trials.parquet``."""

    tables: dict[str, pa.Table]
    absent: dict[tuple[str, str], list[str]]
    """What machines lack, with the reason: nodes by ``("power", "no /sys/class/powercap")``."""
    recorded: list[str]
    """All nodes that were recorded in some trial."""
    shared: list[str]
    """The nodes that share one machine: metrics that are not separate by node are totals of all of them."""
    warnings: list[str]

    def __bool__(self) -> bool:
        """Whether anything was observed."""
        return any(table.num_rows for table in self.tables.values())


def gather(run: RunFolder) -> MetricTables:
    """Read and measure what was observed in each trial of the run."""
    rows: dict[str, list[Row]] = {name: [] for name in SCHEMAS}
    absent: dict[tuple[str, str], list[str]] = {}
    recorded: dict[str, None] = {}
    shared: list[str] = []
    doubts: Counter[str] = Counter()
    for trial in run.trials.to_pylist():
        observed = run.observed(trial["trial_id"])
        if observed is None:
            continue
        table, problem = read(run.folder / "trials" / trial["trial_id"] / "metrics.parquet")
        # What was planned as the window of a trial that was stopped early is for the most part the quiet after it.
        window = observed.window if trial["aborted_at_s"] is None else None
        measured = WindowValues(0.0, 0.0, {}, {})
        if table is not None and window is not None:
            measured = measure(table, window.from_ns, window.to_ns)
        readings = run.readings(trial["trial_id"]) or ()
        for name, found in _tables(observed, measured, readings, trial["throughput"]).items():
            rows[name] += [_trial(trial) | row for row in found]
        _note_absent(observed, absent)
        recorded |= {name: None for name, node in observed.nodes.items() if node.recorded}
        shared = shared or next((list(node.shared_by) for node in observed.nodes.values() if node.shared_by), [])
        doubtful = [*([problem] if problem else []), *observed.problems, *_doubts(observed, measured)]
        doubts.update(dict.fromkeys(doubtful, 1))
    tables = {name: pa.Table.from_pylist(found, schema=SCHEMAS[name]) for name, found in rows.items()}
    return MetricTables(tables, absent, list(recorded), shared, list(_warnings(doubts, tables["observed"].num_rows)))


def _tables(
    observed: Observed, measured: WindowValues, readings: Iterable[Reading], throughput: float | None
) -> dict[str, list[Row]]:
    of_nodes, of_replicas = nodes.nodes(observed, measured), replicas.replicas(observed, measured, readings)
    domains = power.power(observed, measured)
    energy = power.energy(domains, throughput)
    traffic = network.network(observed, measured)
    between = network.between(traffic, throughput)
    return {
        "metrics_nodes": of_nodes,
        "metrics_replicas": of_replicas,
        "metrics_services": replicas.services(of_replicas),
        "metrics_cstates": power.cstates(observed, measured),
        "metrics_power": domains,
        "metrics_energy": [energy] if energy else [],
        "metrics_network": traffic,
        "metrics_between": [between] if between else [],
        "observed": [_observed(observed, measured)],
    }


def _observed(observed: Observed, measured: WindowValues) -> Row:
    spans = observed.traces or SpanCounts()
    recorded = {name for name, node in observed.nodes.items() if node.recorded}
    together = recorded.union(*(observed.nodes[name].shared_by for name in recorded))
    return {
        "sample": spans.sample,
        **{name: getattr(spans, name) for name in _SPANS},
        "nodes": len(observed.nodes),
        "recorded": len(together),
        "readings": sum(taken for taken, _ in measured.readings.values()),
        "skipped": sum(_skipped(observed, name, missing) for name, (_, missing) in measured.readings.items()),
    }


def _skipped(observed: Observed, name: str, gaps: int) -> int:
    """As the recorder counted them, which knows of those before the first reading and after the last, too."""
    node = observed.nodes.get(name)
    return gaps if node is None or node.skipped is None else node.skipped


def _trial(trial: Row) -> Row:
    kept = {name: trial[name] for name in ("trial_id", "treatment", "phase", "rate", "clients", "verdict")}
    return kept | {"load": load_of(trial)}


def _note_absent(observed: Observed, absent: dict[tuple[str, str], list[str]]) -> None:
    for name, node in observed.nodes.items():
        for family, reason in node.absent.items():
            if family.startswith(_BY_NAME):
                continue
            names = absent.setdefault((family, reason), [])
            names += [] if name in names else [name]


def _doubts(observed: Observed, measured: WindowValues) -> Iterator[str]:
    """Replicas that were not recorded, and series that have no value in the window, with the reason."""
    for node in observed.nodes.values():
        for family, reason in node.absent.items():
            if family.startswith(_BY_NAME):
                yield f"{family.partition(':')[2]}: {reason}"
    for (name, subject, _), value in measured.values.items():
        if value.problem:
            yield f"{subject.removeprefix(_REPLICA) if subject.startswith(_REPLICA) else name}: {value.problem}"


def _warnings(doubts: Counter[str], trials: int) -> Iterator[str]:
    for text, count in doubts.items():
        yield f"{text} ({count:,} of {trials:,} trial{'' if trials == 1 else 's'})"
