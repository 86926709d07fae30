"""The page's part on traces, nodes, services, C-states, power, and the coverage of the observation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from loadstone.analysis import metrics, usage
from loadstone.analysis import trace_cache as traced
from loadstone.analysis.grouping import grouped
from loadstone.analysis.latency import beside_breaking_point
from loadstone.analysis.metrics import MetricTables
from loadstone.analysis.metrics.gather import ObservedRow
from loadstone.analysis.metrics.guests import GuestRow
from loadstone.analysis.metrics.nodes import NodeRow
from loadstone.analysis.metrics.power import CstateRow, EnergyRow, PowerRow
from loadstone.analysis.metrics.replicas import ServiceRow
from loadstone.analysis.schema import OfTrial
from loadstone.analysis.trace_cache import Traced
from loadstone.analysis.traced_rows import TracedOperation, TracedService
from loadstone.model.base import plural
from loadstone.report import format, observability_tables
from loadstone.report.content import Content
from loadstone.report.observability_tables import PageTable, TableColumn, TimeRow, shown

_Observed = TypeVar("_Observed", bound=OfTrial)
_MOST_DOUBTS = 8
_MOST_OPERATIONS = 25


@dataclass(frozen=True)
class Observability:
    """All of it. ``content`` is the report's with the tables of metrics and traces."""

    content: Content
    metrics: MetricTables
    traced: Traced

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.metrics or self.traced.tables)

    def facts(self) -> dict[str, str]:
        """What captions of figures leave open: the window, and how many nodes are added up or averaged."""
        windows = sorted({row.window_s for row in self.content.run.trials if row.window_s is not None})
        window = format.duration(windows[-1]) if windows else "the measured part of a trial"
        if len(windows) > 1 and windows[0] < 0.99 * windows[-1]:
            window = f"{format.duration(windows[0])} to {window}"
        recorded = {row.node for row in self.content.rows(NodeRow) if row.shared_by is None}
        return {
            "window": window,
            "nodes": plural(len(recorded), "node") if recorded else "All nodes share one machine",
            "tested": _tested(self.content.rows(CstateRow)),
            "powered": _tested(self.content.rows(PowerRow)),
            "panels": ", of the first four treatments" if len(self.content.treatments) > 4 else "",
        }

    @property
    def _several(self) -> bool:
        return len(self.content.treatments) > 1

    def time(self) -> PageTable:
        """By treatment and service: its share of the critical path beside the breaking point, the highest first."""
        found: list[TimeRow] = []
        for treatment in self.content.treatments:
            beside = {row.trial_id: row.verdict == "not held" for row in beside_breaking_point(treatment)}
            by_service: dict[str, TimeRow] = {}
            for row in self.content.rows(TracedService):
                if row.trial_id in beside:
                    service = by_service.setdefault(row.service, TimeRow(treatment.label, row.service))
                    service.add(row, beside[row.trial_id])
            found += sorted(by_service.values(), key=_most_critical)
        return observability_tables.time(found, self._several)

    def operations(self) -> PageTable:
        """Operations of the highest trial that held, the most time in all first; at most 25 of a treatment."""
        beside = (row for treatment in self.content.treatments for row in beside_breaking_point(treatment))
        held = {row.trial_id: 0 for row in beside if row.verdict != "not held"}
        kept = []
        for row in self.content.rows(TracedOperation):
            if held.get(row.trial_id, _MOST_OPERATIONS) < _MOST_OPERATIONS:
                held[row.trial_id] += 1
                kept.append(row)
        return shown(kept, observability_tables.OPERATIONS, self._several)

    def nodes(self) -> PageTable:
        """Nodes at the highest load that held."""
        return shown(self._highest(NodeRow), observability_tables.NODES, self._several)

    def guests(self) -> PageTable:
        """Virtual machines from both sides, at the highest load that held."""
        return shown(self._highest(GuestRow), observability_tables.GUESTS, self._several)

    def services(self) -> PageTable:
        """Services at the highest load that held."""
        return shown(self._highest(ServiceRow), observability_tables.SERVICES, self._several)

    def cstates(self) -> PageTable:
        """C-states at the highest load that held."""
        return observability_tables.cstates(self._highest(CstateRow), self._several)

    def energy(self) -> PageTable:
        """Power at the highest load that held."""
        load = TableColumn("load", "Clients" if self.content.closed else "Offered<br>req/s", format.number)
        return shown(self._highest(EnergyRow), [load, *observability_tables.ENERGY], self._several)

    def _highest(self, kind: type[_Observed]) -> list[_Observed]:
        """The rows of each treatment's highest trial that held."""
        found = (usage.highest_held(treatment) for treatment in self.content.treatments)
        held = {row.trial_id for row in found if row is not None}
        return [row for row in self.content.rows(kind) if row.trial_id in held]

    def accounts(self) -> PageTable:
        """By treatment the sums of what was observed over its trials."""
        by_label = grouped(self.content.rows(ObservedRow), lambda row: row.treatment)
        labels = [treatment.label for treatment in self.content.treatments if treatment.label in by_label]
        found = [observability_tables.account(label, by_label[label]) for label in labels]
        return shown(found, observability_tables.ACCOUNTS, self._several)

    def sentences(self) -> Iterator[str]:
        """What the accounts come to; ``**`` is bold."""
        rows = self.content.rows(ObservedRow)
        everything = observability_tables.account("", rows)
        if spans := [row for row in rows if row.traces is not None]:
            yield from _spans(spans, len(rows))
        odd = {name: count for name, count in self.traced.health.items() if count and name in _ODD}
        if odd:
            yield (
                "Among the traces that were analysed: " + ", ".join(_ODD[name].format(odd[name]) for name in odd) + "."
            )
        if everything.readings:
            skipped = everything.skipped or 0
            gaps = f"{format.count(skipped)} scheduled readings are" if skipped else "no scheduled reading is"
            yield f"Nodes and replicas were read {format.count(everything.readings)} times; {gaps} missing."

    def growing(self) -> list[tuple[str, str]]:
        """By treatment, what is known of the service that grows."""
        return [(label, re.sub(r"(?<=\d)%", " %", why)) for label, (_, why) in self.traced.growing.items()]

    def absent(self) -> list[tuple[str, str]]:
        """What machines do not have, and why: ``energy counters (client)``, ``no /sys/class/powercap``."""
        everywhere = set(self.metrics.recorded)
        return [
            (_FAMILIES.get(name, name) + ("" if everywhere <= set(nodes) else f" ({', '.join(nodes)})"), reason)
            for (name, reason), nodes in self.metrics.absent.items()
        ]

    def shared(self) -> str:
        """The nodes that share a machine, as a list in a sentence; empty where none does."""
        *others, last = self.metrics.shared or [""]
        return f"{', '.join(others)} and {last}" if others else last

    def doubts(self) -> list[str]:
        """What could not be observed."""
        every = [*self.metrics.warnings, *self.traced.warnings]
        virtual = any((row.environment or "").startswith("vm") for row in self.content.run.trials)
        if virtual and self.content.rows(CstateRow):
            every.insert(0, "C-states are those that the kernel of a virtual machine enters, not the processor's")
        more = [f"and {len(every) - _MOST_DOUBTS} more"] if len(every) > _MOST_DOUBTS else []
        return every[:_MOST_DOUBTS] + more


_FAMILIES = {
    "cstate": "C-states",
    "frequency": "CPU frequency",
    "power": "energy counters",
    "clock": "the clock's offset",
    "interface": "network",
    "disk": "disks",
}
_ODD = {
    "unusable": "{:,} spans that are not valid",
    "orphans": "{:,} spans without their parent",
    "rootless": "{:,} traces without a root",
    "several_roots": "{:,} traces with several roots",
    "unfinished": "{:,} spans without an end",
    "duplicates": "{:,} duplicate spans",
    "outliving": "{:,} spans that ended after their parent",
}


def gather(content: Content) -> Observability:
    """Read what was observed of the run's trials; the first time that takes seconds a trial with spans."""
    measured, spans = metrics.gather(content.run), traced.gather(content.run, content.treatments)
    tables = {name: table for name, table in (measured.tables | spans.tables).items() if table.num_rows}
    missing = {name: table for name, table in measured.tables.items() if name not in tables}
    return Observability(replace(content, tables=content.tables | tables | missing), measured, spans)


def _tested(rows: Iterable[CstateRow | PowerRow]) -> str:
    count = len({row.node for row in rows if row.replicas})
    return f"the {plural(count, 'node')} with replicas" if count != 1 else "the one node with replicas"


def _most_critical(row: TimeRow) -> float:
    share = row.held_critical_share if row.held_critical_share is not None else row.broke_critical_share
    return -(share or 0.0)


def _spans(rows: Sequence[ObservedRow], trials: int) -> Iterator[str]:
    """``rows``: of the trials with tracing, out of so many."""
    sums = observability_tables.account("", rows)
    samples = {row.sample for row in rows if row.sample is not None}
    share = "" if samples <= {1.0} else f" (a sample of {' or '.join(format.percent(s) for s in sorted(samples))})"
    of = f" of {format.count(sums.requests)} requests{share}" if sums.requests is not None else ""
    spans = f", with {format.count(sums.received)} spans" if sums.received is not None else ""
    within = f" in {len(rows)} of {plural(trials, 'trial')}" if len(rows) < trials else ""
    yield f"**{format.count(sums.traces)}** traces{of} came in{within}{spans}."
    if sums.produced is not None and sums.dropped is not None and sums.refused is not None:
        dropped = f"{format.count(sums.dropped)} were dropped"
        refused = f"{format.count(sums.refused)} were refused at least once" if sums.refused else "none was refused"
        yield f"Services produced {format.count(sums.produced)} spans in these trials; {dropped}, {refused}."
