"""Simulates a bottleneck under a CPU quota: calibrated on one measured treatment, applied to others.

A request costs less the more of them wait (``throttling``), and how much less cannot be read from counters once the
quota is used up: use is flat then, whatever a request costs. It is read from where the objective broke. On a grid of
costs (how fast a request's cost falls, and how far) the breaking point is simulated; what was measured, and the CPU of
trials that are pressed but not full, weigh the costs (Bayes). Another quota, count of replicas or objective is
predicted as the ratio of two simulated breaking points, over that posterior, times the measured one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from loadstone.analysis.capacity.demands import Floats, Point
from loadstone.analysis.capacity.objective import Objective
from loadstone.analysis.capacity.replica import (
    PERIOD_S,
    RequestCost,
    Server,
    SimulatedReplica,
    breaking_point,
    simulate,
)

_FLOORS = {0.3: (0.0, 0.15, 0.35, 0.6, 1.0), 1.0: (0.0, 0.15, 0.35, 0.6, 1.0, 1.5)}
"""By ``RequestCost.falls``, the values of ``RequestCost.floor`` that are simulated. A floor above 1 stands for a
constant cost that is so much higher near the breaking point than at rest."""
_LIKELY = {0.3: 0.75, 1.0: 0.25}
"""The prior of ``RequestCost.falls``, 1 where a loop serves all waiting requests after one poll: they share its cost.
In the front end of Hotel Reservation, a server in Go, each doubling of the batch saved the same share: a request cost
0.575, 0.41 and 0.30 ms where one period of the quota served 9, 25 and 67 of them."""
_STEP = 0.005
"""Between the floors that are weighed; between simulated ones the logarithms are interpolated."""
_PRIOR_MEAN, _PRIOR_SPREAD = 0.3, 0.4
"""The prior of ``RequestCost.floor``, normal."""
_BREAK_SPREAD, _COST_SPREAD = 0.03, 0.06
"""How far a right cost's simulation may be from what was measured: of a breaking point, of the cost in one trial."""
_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of the posterior: the costs there stand for a fifth of it each."""
PRESSED, _FULL, _MOST_POINTS = 0.75, 0.95, 4
"""Shares of the quota: below the first, requests cost as at rest; below the second, trials still measure the cost. The
third is the number of trials that are simulated."""
_BEYOND = 10.0
"""So many times what replicas bear leaves them no idle moment."""
_MOST_BUSY = 0.95
"""The share of time for which a replica is taken to work at most: one that uses several cores is hardly ever idle."""


@dataclass(frozen=True)
class Surroundings:
    """What a request needs besides: seconds between its visits, CPU-seconds of others on the node, which has cores."""

    apart_s: float
    others_s: float
    cores: float

    def speed(self, each_s: float, limit: float) -> float:
        """Cores that a replica gets while it may run, ``each_s`` for a request: others need the node's for the same."""
        elapsed = max(each_s / math.ceil(limit), (each_s + self.others_s) / self.cores)
        return each_s / elapsed


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
        changed = [_server(server.cost, self.surroundings, limit, replicas) for server in self.servers]
        found = [breaking_point(server, objective) for server in changed]
        return np.asarray(np.array(found) / np.array(self.breaks), dtype=np.float64)

    def keeps(self, limit: float, replicas: int, objective: Objective) -> bool:
        """Whether any load keeps the objective, by the middle server: a search that finds none ends at its lowest."""
        server = _server(self.servers[len(self.servers) // 2].cost, self.surroundings, limit, replicas)
        return simulate(server, breaking_point(server, objective) / 2, objective).holds >= 0.5

    def at(self, rate: float, limit: float, replicas: int) -> SimulatedReplica:
        """Replicas with this quota at ``rate`` requests/s, by the middle server; rates are relative to its break.

        Of a rate far beyond what they can bear so much is simulated as uses up the quota all the time.
        """
        middle = len(self.servers) // 2
        base = self.servers[middle]
        bears = self.measured * replicas / base.replicas * (limit / base.limit) ** 2  # or less
        server = _server(base.cost, self.surroundings, limit, replicas)
        return simulate(
            server, min(rate, _BEYOND * bears) / self.measured * self.breaks[middle], self.objective, seed=2
        )


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
    deviation of its logarithm. None where no trial measures the cost at rest. Takes some seconds, the first time."""
    limit, replicas = quota
    free = [point for point in points if point.cores <= PRESSED * limit]
    if not free:
        return None
    partly = sorted((p for p in points if PRESSED * limit < p.cores <= _FULL * limit), key=lambda p: p.rate)
    partly = partly[:: max(1, math.ceil(len(partly) / _MOST_POINTS))]

    def with_cost(falls: float, floor: float) -> Server:
        share = min(floor, 1.0)
        cost = RequestCost(_alone(free, falls, share) * max(floor, 1.0), share, falls)
        return _server(cost, surroundings, limit, replicas)

    costs: list[tuple[float, float]] = []
    misfits: list[Floats] = []
    for falls, floors in _FLOORS.items():
        fine = np.arange(floors[0], floors[-1], _STEP)
        servers = [with_cost(falls, floor) for floor in floors]
        squares = ((fine - _PRIOR_MEAN) / _PRIOR_SPREAD) ** 2 - 2 * math.log(_LIKELY[falls])
        breaks = [breaking_point(server, objective) for server in servers]
        errors = np.interp(fine, floors, np.log(breaks)) - math.log(measured[0])
        squares += errors**2 / (measured[1] ** 2 + _BREAK_SPREAD**2)
        for point in partly:
            used = [simulate(server, point.rate * replicas, objective).cpu / point.rate for server in servers]
            errors = np.interp(fine, floors, np.log(used)) - math.log(point.demand)
            # Trials that are alike err alike: together they count as one.
            squares += errors**2 / _COST_SPREAD**2 / len(partly)
        costs += [(falls, float(floor)) for floor in fine]
        misfits.append(squares)
    every = np.concatenate(misfits)
    weight = np.exp(-(every - every.min()) / 2)
    chosen = np.searchsorted(np.cumsum(weight) / weight.sum(), _QUANTILES)
    likely = tuple(with_cost(*costs[at]) for at in chosen)
    return Pressed(
        service=service,
        servers=likely,
        breaks=tuple(breaking_point(server, objective) for server in likely),
        measured=measured[0],
        surroundings=surroundings,
        objective=objective,
    )


def _alone(free: Sequence[Point], falls: float, floor: float) -> float:
    """What a request costs alone, from trials in which few wait."""
    share = RequestCost(1.0, floor, falls)
    costs = [point.demand / share.at_rest(min(point.cores, _MOST_BUSY)) for point in free]
    return float(np.average(costs, weights=[point.rate * point.seconds for point in free]))


def _server(cost: RequestCost, around: Surroundings, limit: float, replicas: int) -> Server:
    speed = around.speed(cost.in_bursts(limit * PERIOD_S), limit)
    return Server(limit, replicas, cost, around.apart_s, speed)
