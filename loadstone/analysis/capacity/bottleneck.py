"""Simulates a bottleneck under a CPU quota: calibrated on one measured treatment, applied to others.

A request costs less when the replica is at work already (``throttling``), and how much less cannot be read from
counters once the quota is used up: use is flat then, whatever a request costs. It is read from where the objective
broke. On a grid of shares (cost when awake / cost when woken) the breaking point is simulated; what was measured, and
the CPU of trials that are pressed but not full, weigh the shares (Bayes). Another quota, count of replicas or objective
is predicted as the ratio of two simulated breaking points, over that posterior, times the measured one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from loadstone.analysis.capacity.demands import Floats, Point
from loadstone.analysis.capacity.objective import Objective
from loadstone.analysis.capacity.replica import Server, SimulatedReplica, breaking_point, simulate

_GRID = np.geomspace(0.1, 1.5, 8)
"""Cost when awake as a share of that when woken; above 1 a request costs more under load than at rest."""
_FINE = np.geomspace(_GRID[0], _GRID[-1], 400)
_PRIOR_MEDIAN, _PRIOR_SPREAD = 0.5, 0.6
"""Of the share, log-normal."""
_BREAK_SPREAD, _COST_SPREAD = 0.03, 0.06
"""How far a right share's simulation may be from what was measured: of a breaking point, of the cost in one trial."""
_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of the posterior: the shares that stand for a fifth of it each."""
PRESSED, _FULL, _MOST_POINTS = 0.75, 0.95, 4
"""Shares of the quota: below the first, requests cost as at rest; below the second, trials still measure the cost. The
third is the number of trials that are simulated."""


@dataclass(frozen=True)
class Surroundings:
    """What a request needs besides: seconds between its visits, CPU-seconds of others on the node, which has cores."""

    apart_s: float
    others_s: float
    cores: float

    def speed(self, awake_s: float, limit: float) -> float:
        """Cores that a replica gets while it may run: others need the node's for the same requests."""
        elapsed = max(awake_s / math.ceil(limit), (awake_s + self.others_s) / self.cores)
        return awake_s / elapsed


@dataclass(frozen=True)
class Pressed:
    """A calibrated bottleneck. ``servers`` are equally likely, ``breaks`` are their simulated breaking points."""

    service: str
    servers: tuple[Server, ...]
    breaks: tuple[float, ...]
    measured: float
    surroundings: Surroundings
    objective: Objective

    def ratios(self, limit: float, replicas: int, objective: Objective) -> Floats:
        """Breaking points relative to that of the measured treatment, one a server."""
        changed = [self._like(server, limit, replicas) for server in self.servers]
        found = [breaking_point(server, objective) for server in changed]
        return np.asarray(np.array(found) / np.array(self.breaks), dtype=np.float64)

    def _like(self, server: Server, limit: float, replicas: int) -> Server:
        return _server(server.awake_s, server.woken_s, self.surroundings, limit, replicas)

    def at(self, rate: float) -> SimulatedReplica:
        """The measured treatment at ``rate`` requests/s, as the middle server has it, relative to its break."""
        middle = len(self.servers) // 2
        return simulate(self.servers[middle], rate / self.measured * self.breaks[middle], self.objective, seed=2)


@lru_cache(maxsize=32)
def calibrate(
    service: str,
    points: tuple[Point, ...],
    quota: tuple[float, int],
    measured: tuple[float, float],
    surroundings: Surroundings,
    objective: Objective,
) -> Pressed | None:
    """``quota``: cores of one replica, and how many there are. ``measured``: the breaking point, and the standard
    deviation of its logarithm. None where no trial measures the cost at rest. Takes about a second, the first time."""
    limit, replicas = quota
    free = [point for point in points if point.cores <= PRESSED * limit]
    if not free:
        return None
    partly = sorted((p for p in points if PRESSED * limit < p.cores <= _FULL * limit), key=lambda p: p.rate)
    partly = partly[:: max(1, math.ceil(len(partly) / _MOST_POINTS))]

    def with_share(share: float) -> Server:
        woken = _at_rest(free, min(share, 1.0))
        return _server(share * woken, woken, surroundings, limit, replicas)

    servers = [with_share(share) for share in _GRID]
    breaks = [breaking_point(server, objective) for server in servers]
    squares = (_on_fine(breaks) - math.log(measured[0])) ** 2 / (measured[1] ** 2 + _BREAK_SPREAD**2)
    squares += (np.log(_FINE / _PRIOR_MEDIAN) / _PRIOR_SPREAD) ** 2
    for point in partly:
        costs = [simulate(server, point.rate * replicas, objective).cpu / point.rate for server in servers]
        # Trials that are alike err alike: together they count as one.
        squares += (_on_fine(costs) - math.log(point.demand)) ** 2 / _COST_SPREAD**2 / len(partly)
    weight = np.exp(-(squares - squares.min()) / 2)
    shares = np.interp(_QUANTILES, np.cumsum(weight) / weight.sum(), _FINE)
    likely = tuple(with_share(float(share)) for share in shares)
    return Pressed(
        service=service,
        servers=likely,
        breaks=tuple(breaking_point(server, objective) for server in likely),
        measured=measured[0],
        surroundings=surroundings,
        objective=objective,
    )


def _on_fine(values: Sequence[float]) -> Floats:
    """The logarithm of what was simulated on the grid, on the fine one."""
    return np.asarray(np.interp(np.log(_FINE), np.log(_GRID), np.log(values)), dtype=np.float64)


def _at_rest(free: Sequence[Point], share: float) -> float:
    """Cost when woken: a replica that is busy for a share u of the time is found awake by as many visits."""
    costs = [point.demand / (share + (1 - share) * max(0.0, 1 - point.cores)) for point in free]
    return float(np.average(costs, weights=[point.rate * point.seconds for point in free]))


def _server(awake_s: float, woken_s: float, around: Surroundings, limit: float, replicas: int) -> Server:
    speed = around.speed(awake_s, limit)
    return Server(limit, replicas, awake_s, max(awake_s, woken_s), around.apart_s, speed)
