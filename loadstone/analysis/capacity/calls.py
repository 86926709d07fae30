"""The calls between services for one request: from traces, else from the needs of the application."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.analysis.traced_rows import OperationTimes
from loadstone.model.records.run_files import ApplicationPart

_MOST = 400
"""Calls of one request; a graph that unfolds to more is not simulated beyond."""

Edges = Mapping[tuple[str, str], float]
"""Calls per visit of the caller, by (caller, called)."""


@dataclass(frozen=True)
class Calls:
    """The tree of one request's calls, each made with a probability whenever its parent is; the entry comes first."""

    service: tuple[str, ...]
    parent: tuple[int, ...]
    probability: tuple[float, ...]
    parallel: bool
    """Whether a service calls all that it needs at once, or one after the other."""
    source: str
    """The source of the tree, as text."""

    def visits(self) -> dict[str, float]:
        """Mean visits of each service by one request."""
        mean = np.ones(len(self.service))
        found: dict[str, float] = {}
        for index, (service, parent) in enumerate(zip(self.service, self.parent, strict=True)):
            mean[index] = self.probability[index] * (mean[parent] if parent >= 0 else 1.0)
            found[service] = found.get(service, 0.0) + float(mean[index])
        return found


def unfold(entry: str, edges: Edges, parallel: bool, source: str) -> Calls:
    """The tree below ``entry``. 2.3 calls a visit are two, and a third with probability 0.3; none goes in circles."""
    service, parent, probability, above = [entry], [-1], [1.0], [frozenset({entry})]
    at = 0
    while at < len(service):
        for (caller, called), mean in edges.items():
            if caller != service[at] or called in above[at]:
                continue
            whole, rest = divmod(mean, 1.0)
            chances = [1.0] * int(whole) + ([rest] if rest > 1e-3 else [])
            for chance in chances[: _MOST - len(service)]:
                service.append(called)
                parent.append(at)
                probability.append(chance)
                above.append(above[at] | {called})
        at += 1
    return Calls(tuple(service), tuple(parent), tuple(probability), parallel, source)


def of_application(
    application: ApplicationPart, entry: str, deployed: Collection[str], parallel: bool = False
) -> Calls:
    """As ``plan.json`` has it: each service is taken to call each that it needs, if ``deployed``, once per visit.

    ``entry``: the service that requests enter.
    """
    edges = {
        (name, need): 1.0
        for name, service in application.services.items()
        for need in (*service.needs, *service.calls)
        if need in deployed
    }
    order = "at once" if parallel else "one after the other"
    source = f"assumed: each service calls all that it needs once, {order}"
    return unfold(entry, edges, parallel, source)


def of_traces(operations: Sequence[OperationTimes], entry: str, traces: int, parallel: bool = False) -> Calls:
    """From the spans of one trial with so many traces: calls are spans that have a peer."""
    calls: dict[tuple[str, str], float] = {}
    for row in operations:
        if row.peer and row.peer != row.service:
            pair = (row.service, row.peer)
            calls[pair] = calls.get(pair, 0.0) + row.count / traces
    visits = _summed(calls) | {entry: 1.0}
    edges = {pair: count / visits[pair[0]] for pair, count in calls.items() if visits.get(pair[0])}
    order = "at once" if parallel else "one after the other"
    return unfold(entry, edges, parallel, f"from {traces:,} traces; calls are made {order}")


def _summed(calls: Edges) -> dict[str, float]:
    visits: dict[str, float] = {}
    for (_, called), count in calls.items():
        visits[called] = visits.get(called, 0.0) + count
    return visits
