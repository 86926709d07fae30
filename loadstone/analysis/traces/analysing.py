"""The analysis of a trial's traces, from columns to tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from loadstone.analysis.traces import clocks, tables
from loadstone.analysis.traces.clocks import Clocks
from loadstone.analysis.traces.critical import Critical, walk
from loadstone.analysis.traces.grouping import by
from loadstone.analysis.traces.owners import owners
from loadstone.analysis.traces.paths import Paths, paths
from loadstone.analysis.traces.spans import ERROR, Health, Ints, SpanColumns
from loadstone.analysis.traces.times import times


@dataclass(frozen=True)
class TraceAnalysis:
    """The result; what the columns of a table mean stands beside its schema."""

    spans: SpanColumns
    critical: Critical
    tree: Paths
    operations: pa.Table
    """See ``tables.OPERATIONS``."""
    services: pa.Table
    """See ``tables.SERVICES``."""
    paths: pa.Table
    """See ``paths.SCHEMA``."""
    clocks: pa.Table
    """See ``clocks.SCHEMA``."""
    heat: pa.Table
    """See ``tables.HEAT``."""
    durations_ns: Ints
    """Durations of the roots, by trace."""
    health: Health


def analyse(spans: SpanColumns, corrected: bool = True) -> TraceAnalysis:
    """Critical paths and tables; with ``corrected`` after clocks that contradict each other were corrected."""
    found = clocks.compare(spans)
    shift = found.shift_ns if corrected else np.zeros_like(found.shift_ns)
    start, end, unfinished = times(spans, shift)
    calls, texts = by(spans.service, spans.operation, spans.peer)
    critical = walk(spans.first, spans.parent, spans.root, start, end, calls, spans.status == ERROR)
    whose = owners(spans)
    tree = paths(spans, critical, whose)
    durations = end[spans.root] - start[spans.root]
    return TraceAnalysis(
        spans=spans,
        critical=critical,
        tree=tree,
        operations=tables.operations(calls, texts, spans.status == ERROR, end - start, critical.exclusive),
        services=tables.services(spans, critical, whose),
        paths=tree.table(),
        clocks=_seen(found, spans),
        heat=tables.heat(start[spans.root], durations),
        durations_ns=durations,
        health=replace(
            spans.health,
            unfinished=unfinished,
            outliving=critical.outliving,
            early=critical.early,
            overlapping=critical.overlapping,
            empty=critical.empty,
        ),
    )


def _seen(found: Clocks, spans: SpanColumns) -> pa.Table:
    """The clocks of the hosts that have spans: a window may leave some out."""
    present = np.bincount(spans.host.codes, minlength=len(found.hosts)) > 0
    table = found.table()
    names = {host for host, some in zip(found.hosts, present, strict=True) if some}
    return table.filter(pa.array([host in names for host in table["host"].to_pylist()], pa.bool_()))
