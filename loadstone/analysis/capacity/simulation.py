"""Latency of what cannot be deployed: an open queueing network with measured demands, simulated request by request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from loadstone.analysis.capacity import queueing
from loadstone.analysis.capacity.calls import Calls
from loadstone.analysis.capacity.demands import Floats
from loadstone.analysis.capacity.layout import Layout
from loadstone.analysis.percentiles import of_sorted

PERIOD_S = 0.1
"""In which the kernel gives out a CPU quota (CFS)."""
_EVENTS = 15_000_000
"""So many take about a quarter of a minute; a request has three or four of them a call."""
_SECONDS, _LEAST, _MOST = 60.0, 100_000, 400_000
"""Seconds of simulated time, and the fewest and the most requests, unless that would be more events."""
_KEEPS_UP = 0.99
"""Fuller than this, queues of what costs the same at every load grow as long as one looks."""
_WARM = 0.2
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
LATENCIES = (*PERCENTILES, "mean")
"""What is simulated of the latencies of a load."""


@dataclass(frozen=True)
class SimulatedLoad:
    """What came out at one rate."""

    rate: float
    requests: int
    seconds: float
    """Seconds of simulated time that count."""
    stable: bool | None
    """Whether it kept up with what was offered; None where it did not, and measured loads show that this is wrong."""
    latency_ms: Mapping[str, float | None]
    """None where it did not keep up."""
    busiest: str
    busiest_share: float | None
    """The share of its CPU that the busiest uses: of a service's replicas' quota, or of a node's cores. None where so
    much more was offered than it bears that the simulation ended within a period of the quota."""


@dataclass(frozen=True)
class Work:
    """CPU-seconds of a service for one request, all its visits together."""

    seconds: float
    wake_s: float = 0.0
    """What it costs besides where every burst wakes it."""
    answers: bool = False
    """Whether each visit is two bursts: one that calls others, and one when these have returned."""


def simulate(
    layout: Layout, calls: Calls, work: Mapping[str, Work], rate: float, hop_s: float = 0.0, seed: int = 1
) -> SimulatedLoad:
    """Requests at ``rate`` per second; a service without ``work`` costs nothing."""
    network = _Network(layout, calls)
    visits = calls.visits()
    events = 3.5 * sum(visits.values())
    wanted = min(max(_SECONDS * rate, _LEAST), max(_MOST, rate))
    requests = int(min(wanted, _EVENTS / events))
    warm = int(_WARM * requests)
    needed = [work.get(name, Work(0.0)) for name in network.services]
    bursts = np.array(
        [visits[name] * (1 + demand.answers) for name, demand in zip(network.services, needed, strict=True)]
    )
    each = np.array([demand.seconds for demand in needed]) / bursts
    wake = np.array([demand.wake_s for demand in needed]) / bursts
    latency, nodes, replicas, seconds = queueing.run(
        *(seed, rate, requests, warm, hop_s),
        *network.calls,
        *(calls.parallel, each, wake, np.array([demand.answers for demand in needed])),
        *network.replicas,
        *(PERIOD_S, *network.nodes),
        min(requests, 200_000),
    )
    done = latency[~np.isnan(latency)]
    completed = len(done) / max(requests - warm, 1)
    name, share = network.busiest(nodes / seconds, replicas / seconds)
    # A replica that spends less on a request the more of them wait uses all of its quota long before it falls behind.
    adapts = any(demand.wake_s > 0 for demand in needed)
    stable = completed > 0.98 and (_settled(latency) if adapts else share < _KEEPS_UP)
    kept: dict[str, float | None] = dict.fromkeys(LATENCIES)
    if stable:
        at = of_sorted(np.sort(done), tuple(PERCENTILES.values()))
        kept = {name: float(value) * 1e3 for name, value in zip(kept, [*at, done.mean()], strict=True)}
    shown = stable or seconds >= PERIOD_S
    return SimulatedLoad(rate, requests - warm, float(seconds), stable, kept, name, min(share, 1.0) if shown else None)


def _settled(latency: Floats) -> bool:
    """Whether requests wait no longer at the end than in the middle, give or take a period of the quota."""
    parts = np.array_split(np.nan_to_num(latency, nan=np.inf), 5)
    return float(np.median(parts[4])) <= 1.5 * float(np.median(parts[1])) + PERIOD_S


class _Network:
    """The layout and the calls as arrays."""

    def __init__(self, layout: Layout, calls: Calls) -> None:
        self.services = list(dict.fromkeys(calls.service))
        number = {name: index for index, name in enumerate(self.services)}
        nodes = list(dict.fromkeys([*layout.cores, *(replica.node for replica in layout.replicas)]))
        at = {name: index for index, name in enumerate(nodes)}
        placed = sorted(
            (replica for replica in layout.replicas if replica.service in number), key=lambda p: number[p.service]
        )
        missing = set(number) - {work.service for work in placed}
        if missing:
            raise ValueError(f"no replica of {', '.join(sorted(missing))}, which requests call")
        self._placed, self._nodes = placed, nodes
        count = np.bincount([number[work.service] for work in placed], minlength=len(number))
        cores = np.array([max(1, round(layout.cores.get(name, len(placed)))) for name in nodes])
        self._cores = cores
        self.replicas = (
            np.concatenate([[0], np.cumsum(count)[:-1]]),
            count,
            np.array([at[work.node] for work in placed]),
            np.array([work.limit or 0.0 for work in placed]),
        )
        self.nodes = np.concatenate([[0], np.cumsum(cores)[:-1]]), cores
        first, following = np.full(len(calls.parent), -1), np.full(len(calls.parent), -1)
        for index in range(len(calls.parent) - 1, 0, -1):
            following[index] = first[calls.parent[index]]
            first[calls.parent[index]] = index
        service = np.array([number[name] for name in calls.service])
        self.calls = service, np.array(calls.probability), first, following, np.array(calls.parent)

    def busiest(self, by_node: Floats, by_replica: Floats) -> tuple[str, float]:
        """Name and share of the node or the service with the fullest CPU."""
        shares: dict[str, float] = {}
        for work, used in zip(self._placed, by_replica, strict=True):
            if work.limit:
                shares[work.service] = max(shares.get(work.service, 0.0), float(used) / work.limit)
        for name, cores, used in zip(self._nodes, self._cores, by_node, strict=True):
            shares[f"node {name}"] = float(used) / float(cores)
        name = max(shares, key=lambda each: shares[each])
        return name, shares[name]
