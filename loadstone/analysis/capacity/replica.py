"""Where replicas under a CPU quota break an objective, by simulation of trials as long as the real ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loadstone.analysis.capacity import throttling
from loadstone.analysis.capacity.demands import Floats
from loadstone.analysis.capacity.objective import Objective

PERIOD_S = 0.1
"""In which the kernel gives out a CPU quota (CFS)."""
_REQUESTS, _FEWEST, _MOST = 45_000, 8, 200
"""Requests that are simulated at a load, unless that is fewer or more trials."""
_LONG_S, _VIOLATIONS = 8.0, 50
"""Longer trials are simulated as if they were so long, if so many requests may violate the objective even then."""
_POOL = 8
"""Replicas that are simulated; of more, so many are taken for all."""
_STEPS, _DOUBLINGS = 7, 6
"""Steps of the search for a breaking point: halvings of the interval between a load that holds and its double, and how
often the load that uses up the quota at rest is doubled or halved to find that interval."""
_SETTLES = 8
"""Steps in which the cost of a burst and its length agree."""
_FEW = 8
"""More than so many waiting are rare on a replica that is not pressed."""
_SEED = 1


@dataclass(frozen=True)
class RequestCost:
    """CPU of a request, all its visits together; a visit costs less the more of them are served in one batch."""

    alone_s: float
    """Where each visit finds the replica idle."""
    floor: float
    """The share of ``alone_s`` that remains however many wait."""
    falls: float
    """How the rest falls: 1 where one fixed cost is shared by a batch, less where each doubling still saves a part."""

    def of_batch(self, visits: float) -> float:
        """Seconds, in a batch of so many."""
        rest: float = max(visits, 1.0) ** -self.falls
        return self.alone_s * (self.floor + (1 - self.floor) * rest)

    def in_bursts(self, budget_s: float) -> float:
        """Seconds, where ``budget_s`` at a time goes to one batch."""
        cost = self.alone_s
        for _ in range(_SETTLES):
            cost = math.sqrt(cost * self.of_batch(budget_s / cost))
        return cost

    def at_rest(self, busy: float) -> float:
        """Seconds, on a replica that works for the share ``busy`` of the time: batches as visits wait in an M/M/1."""
        few = sum(busy**others * self.of_batch(1 + others) for others in range(_FEW))
        return (1 - busy) * few + busy**_FEW * self.of_batch(1 + _FEW)


@dataclass(frozen=True)
class Server:
    """Equal replicas among which requests are spread at random."""

    limit: float
    """CPU quota of one, in cores."""
    replicas: int
    cost: RequestCost
    apart_s: float
    """Between a request's two visits."""
    speed: float
    """While it may run, in cores: what the node has left for it, or more than 1 where it uses several cores."""


@dataclass(frozen=True)
class SimulatedReplica:
    """Trials at one load. ``worst``: by trial, the highest share of violations, relative to what is allowed."""

    worst: Floats
    latency_s: Floats
    """Sorted, of all trials."""
    cpu: float
    """Cores of one replica."""
    throttled: float
    """Share of its periods in which the quota was used up."""

    @property
    def holds(self) -> float:
        """The share of the trials that keep the objective."""
        return float(np.mean(self.worst <= 1))


def simulate(server: Server, rate: float, objective: Objective, seed: int = _SEED) -> SimulatedReplica:
    """Trials at ``rate`` requests/s of all replicas together."""
    pool = min(server.replicas, _POOL)
    each = rate / server.replicas
    enough_s = _VIOLATIONS / min(allowed for allowed, _ in objective.limits) / rate
    window_s = min(objective.window_s, max(_LONG_S, enough_s))
    length = objective.warm_s + window_s
    trials = int(np.clip(_REQUESTS / (each * pool * length), _FEWEST, _MOST))
    latency, trial, cpu, throttled = throttling.run(
        *(seed, each, trials * pool, objective.warm_s, window_s),
        *(server.cost.alone_s / 2, server.cost.floor, server.cost.falls, server.apart_s),
        *(server.limit * PERIOD_S, PERIOD_S, server.speed),
    )
    of = trial // pool
    count = np.maximum(np.bincount(of, minlength=trials), 1)
    shares = [np.bincount(of, latency > limit, trials) / count / allowed for allowed, limit in objective.limits]
    return SimulatedReplica(
        np.max(shares, axis=0), np.sort(latency), float(cpu.mean()) / window_s, float(throttled.mean())
    )


def breaking_point(server: Server, objective: Objective) -> float:
    """Requests/s of all replicas at which half of the trials keep the objective; the ends of the search where none is.

    By bisection: the median trial's violations grow with the load.
    """

    def holds(rate: float) -> bool:
        return simulate(server, rate, objective).holds >= 0.5

    low = server.replicas * min(server.limit, server.speed) / server.cost.alone_s
    step = 2.0 if holds(low) else 0.5
    for _ in range(_DOUBLINGS):
        low *= step
        if holds(low) != (step > 1):
            break
    low, high = (low / 2, low) if step > 1 else (low, low * 2)
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return math.sqrt(low * high)
