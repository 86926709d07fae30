"""Critical time by call path: which chain of services and operations the time went to.

A path is a node of a tree whose root's children are the entries. A server span is a step ``service operation``, a
store access ``store operation``. A client span whose server span was recorded is no step of its own: what is spent in
it alone stands under ``to SERVICE``, beside the server's own path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from loadstone.analysis.schema import schema_of
from loadstone.analysis.traced_rows import PathTime
from loadstone.analysis.traces.compiled import kernel
from loadstone.analysis.traces.critical import Critical
from loadstone.analysis.traces.grouping import by, numbered
from loadstone.analysis.traces.owners import Owners
from loadstone.analysis.traces.spans import Codes, Ints, Rows, SpanColumns

_NONE = np.empty(0, np.int32)
DEEPEST = 64
"""Deeper calls count for the step above them, so that endless recursion makes no endless names."""


@dataclass(frozen=True)
class Paths:
    """The tree of call paths: node k has the step ``steps[label[k]]`` below ``parent[k]`` (-1: an entry)."""

    parent: Rows
    label: Rows
    count: Ints
    critical_ns: Ints
    steps: tuple[str, ...]

    def chains(self) -> list[tuple[str, ...]]:
        """The steps of every node from its entry on."""
        chains: list[tuple[str, ...]] = []
        for parent, label in zip(self.parent.tolist(), self.label.tolist(), strict=True):
            above = chains[parent] if parent >= 0 else ()
            chains.append((*above, self.steps[label]))
        return chains

    def table(self) -> pa.Table:
        """See ``PathTime``."""
        chains = self.chains()
        total = max(int(self.critical_ns.sum()), 1)
        order = np.argsort(-self.critical_ns, kind="stable")
        return pa.table(
            {
                "path": [" > ".join(chains[k]) for k in order],
                "count": self.count[order],
                "critical_s": self.critical_ns[order] / 1e9,
                "share": self.critical_ns[order] / total,
                "depth": [len(chains[k]) for k in order],
            },
            schema=schema_of(PathTime),
        )


def paths(spans: SpanColumns, critical: Critical, owners: Owners) -> Paths:
    """All call paths of the traces' critical paths."""
    rows = critical.order[critical.order >= 0]
    labels, steps = _labels(spans, owners, rows)
    above, depth = _levels(rows, owners.callee, spans.parent)
    node = np.full(len(spans), -1, np.int32)
    parents, of_nodes, nodes = [_NONE], [_NONE], 0
    size = max(len(steps), 1)
    by_depth = np.argsort(depth, kind="stable")
    edges = np.searchsorted(depth[by_depth], np.arange(1, DEEPEST + 3)).tolist()
    for low, high in pairwise(edges[:-1]):
        level = by_depth[low:high]
        over = np.where(above[level] >= 0, node[above[level]], np.int32(-1)).astype(np.int64)
        numbers, distinct = numbered((over + 1) * size + labels[level])
        node[rows[level]] = numbers + np.int32(nodes)
        parents.append((distinct // size - 1).astype(np.int32))
        of_nodes.append((distinct % size).astype(np.int32))
        nodes += len(distinct)
    deeper = by_depth[edges[-2] :]
    node[rows[deeper]] = node[above[deeper]]
    return Paths(
        parent=np.concatenate(parents),
        label=np.concatenate(of_nodes),
        count=np.bincount(node[rows], minlength=nodes).astype(np.int64),
        critical_ns=np.bincount(node[rows], critical.on_path[rows], nodes).astype(np.int64),
        steps=steps,
    )


def _labels(spans: SpanColumns, owners: Owners, rows: Rows) -> tuple[Rows, tuple[str, ...]]:
    """The step of each of these spans, as a number and as text."""
    labels, texts = by(owners.service.take(rows), spans.operation.take(rows))
    steps = [f"{service} {short(operation)}".rstrip() for service, operation in texts]
    between = np.flatnonzero(owners.callee[rows] >= 0)
    if len(between):
        called, services = by(Codes(owners.callee[rows[between]], owners.service.names))
        labels[between] = called + np.int32(len(steps))
        steps += [f"to {service}" for (service,) in services]
    distinct = {step: number for number, step in enumerate(dict.fromkeys(steps))}  # short names may be the same
    renumbered = np.array([distinct[step] for step in steps], np.int32)
    return renumbered[labels], tuple(distinct)


def short(operation: str) -> str:
    """``Nearby`` of ``search.Search/Nearby``; ``GET /hotels`` as it is."""
    service, slash, method = operation.rpartition("/")
    return method if slash and method and service and " " not in operation and "/" not in service else operation


@kernel
def _levels(rows, callee, parent):  # type: ignore[no-untyped-def]
    """By place in ``rows``, which come parents first: the row of the step above (-1: none) and the depth, from 1.

    Below the deepest step it is that step, and the depth ``DEEPEST + 1``.
    """
    above, depth = np.empty(len(rows), np.int32), np.empty(len(rows), np.int8)
    place = np.full(len(parent), -1, np.int32)
    for k in range(len(rows)):
        place[rows[k]] = k
        p = parent[rows[k]]
        if p >= 0 and callee[p] >= 0:
            p = above[place[p]]
        above[k], depth[k] = p, 1
        if p >= 0:
            depth[k] = min(depth[place[p]] + 1, DEEPEST + 1)
            if depth[place[p]] > DEEPEST:
                above[k] = above[place[p]]
    return above, depth
