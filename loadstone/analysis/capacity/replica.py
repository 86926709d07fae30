"""Where replicas under a CPU quota break an objective, by simulation of trials as long as the real ones."""

from __future__ import annotations

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
_STEPS = 10
_LOWEST, _HIGHEST = 0.04, 1.15
"""Of the load that uses up the quota at the least cost: where a breaking point is looked for."""
_SEED = 1


@dataclass(frozen=True)
class Server:
    """Equal replicas among which requests are spread at random."""

    limit: float
    """CPU quota of one, in cores."""
    replicas: int
    awake_s: float
    """CPU of a request all of whose visits find the replica at work."""
    woken_s: float
    """CPU of a request that wakes it at each visit; at least ``awake_s``."""
    apart_s: float
    """Between its two visits."""
    speed: float
    """While it may run, in cores: what the node has left for it, or more than 1 where it uses several cores."""

    @property
    def full(self) -> float:
        """Requests/s that use up the quotas at the least cost."""
        return self.replicas * min(self.limit, self.speed) / self.awake_s


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
        *(server.awake_s / 2, (server.woken_s - server.awake_s) / 2, server.apart_s),
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
    low, high = np.log(_LOWEST * server.full), np.log(_HIGHEST * server.full)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if simulate(server, float(np.exp(middle)), objective).holds >= 0.5:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))
