"""The metrics of all trials of a run: one table for nodes, replicas, services, C-states and power each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from loadstone.analysis.metrics import guests, network, nodes, power, replicas
from loadstone.analysis.metrics.clock_errors import ClockErrorRow, clock_errors
from loadstone.analysis.metrics.guests import GuestRow
from loadstone.analysis.metrics.minutes import MinuteRow, minutes
from loadstone.analysis.metrics.network import BetweenRow, NetworkRow
from loadstone.analysis.metrics.nodes import MetricRow, NodeRow
from loadstone.analysis.metrics.power import CstateRow, EnergyRow, PowerRow
from loadstone.analysis.metrics.replicas import ReplicaRow, ServiceRow
from loadstone.analysis.metrics.windows import WindowValues, measure, read
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow, of_trial, table
from loadstone.model.base import plural
from loadstone.model.records.observed import Observed, SpanCounts
from loadstone.model.records.reading import Reading

_REPLICA = "replica:"
_BY_NAME = (_REPLICA, "network:")
"""Families of metrics that are distinguished by name only."""


class Accounts(TableRow):
    """What was observed: spans and requests as the receiver counted them, nodes, and readings of counters."""

    sample: float | None
    requests: int | None
    traces: int | None
    roots: int | None
    produced: int | None
    received: int | None
    written: int | None
    dropped: int | None
    refused: int | None
    unreadable: int | None
    unread: int | None
    nodes: int
    recorded: int
    readings: int
    skipped: int


class ObservedRow(Accounts, MetricRow, name="observed"):
    """What was observed in one trial."""


KINDS: tuple[type[MetricRow], ...] = (
    NodeRow,
    GuestRow,
    ReplicaRow,
    ServiceRow,
    CstateRow,
    PowerRow,
    EnergyRow,
    NetworkRow,
    BetweenRow,
    ObservedRow,
    MinuteRow,
    ClockErrorRow,
)
"""The rows of the tables."""


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
    rows: dict[type[MetricRow], list[MetricRow]] = {kind: [] for kind in KINDS}
    absent: dict[tuple[str, str], list[str]] = {}
    recorded: dict[str, None] = {}
    shared: list[str] = []
    doubts: Counter[str] = Counter()
    for trial in run.trials:
        observed = run.observed(trial.trial_id)
        if observed is None:
            continue
        recording, problem = read(run.folder / "trials" / trial.trial_id / "metrics.parquet")
        # What was planned as the window of a trial that was stopped early is for the most part the quiet after it.
        window = observed.window if not trial.stopped else None
        measured = WindowValues(0.0, {}, {})
        if recording is not None and window is not None:
            measured = measure(recording, window.from_ns, window.to_ns)
        readings = run.readings(trial.trial_id) or ()
        for kind, parts in _parts(observed, measured, readings, trial.throughput):
            rows[kind] += of_trial(kind, trial, parts)
        if recording is not None and window is not None:
            rows[MinuteRow] += of_trial(MinuteRow, trial, minutes(observed, recording, window, measured))
            rows[ClockErrorRow] += of_trial(ClockErrorRow, trial, clock_errors(observed, recording))
        _note_absent(observed, absent)
        recorded |= {name: None for name, node in observed.nodes.items() if node.recorded}
        shared = shared or next((list(node.shared_by) for node in observed.nodes.values() if node.shared_by), [])
        doubtful = [*([problem] if problem else []), *observed.problems, *_doubts(observed, measured)]
        doubts.update(dict.fromkeys(doubtful, 1))
    tables = {kind.NAME: table(kind, found) for kind, found in rows.items()}
    return MetricTables(tables, absent, list(recorded), shared, list(_warnings(doubts, len(rows[ObservedRow]))))


def _parts(
    observed: Observed, measured: WindowValues, readings: Iterable[Reading], throughput: float | None
) -> Iterator[tuple[type[MetricRow], Sequence[TableRow]]]:
    of_nodes = nodes.nodes(observed, measured)
    of_replicas = replicas.replicas(observed, measured, readings)
    domains, traffic = power.power(observed, measured), network.network(observed, measured)
    energy, between = power.energy(domains, throughput, observed), network.between(traffic, throughput, observed)
    yield NodeRow, of_nodes
    yield GuestRow, guests.guests(of_nodes, measured)
    yield ReplicaRow, of_replicas
    yield ServiceRow, replicas.services(of_replicas, observed)
    yield CstateRow, power.cstates(observed, measured)
    yield PowerRow, domains
    yield EnergyRow, [energy] if energy else []
    yield NetworkRow, traffic
    yield BetweenRow, [between] if between else []
    yield ObservedRow, [_accounts(observed, measured)]


def _accounts(observed: Observed, measured: WindowValues) -> Accounts:
    spans = observed.traces or SpanCounts()
    recorded = {name for name, node in observed.nodes.items() if node.recorded}
    together = recorded.union(*(observed.nodes[name].shared_by for name in recorded))
    return Accounts(
        **spans.model_dump(exclude={"outside", "quiet"}),
        nodes=len(observed.nodes),
        recorded=len(together),
        readings=sum(taken for taken, _ in measured.readings.values()),
        skipped=sum(_skipped(observed, name, missing) for name, (_, missing) in measured.readings.items()),
    )


def _skipped(observed: Observed, name: str, gaps: int) -> int:
    """As the recorder counted them, which knows of those before the first reading and after the last, too."""
    node = observed.nodes.get(name)
    return gaps if node is None or node.skipped is None else node.skipped


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
        yield f"{text} ({count:,} of {plural(trials, 'trial')})"
