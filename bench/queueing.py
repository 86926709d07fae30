"""Servers of known capacity, and how their speed varies from trial to trial.

Requests arrive as a Poisson process and wait in one first-come-first-served line for workers with exponential service
times (Kiefer and Wolfowitz, "On the theory of queues with many servers", 1955: the earliest free worker takes the next
request). A worker may have a CPU quota: of each period it works only the first part. A trial holds when at most 1 % of
its requests take longer than the limit, and is stopped as soon as it cannot hold any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

SHARE = 0.01
PERIOD_S = 0.1

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Shape = Literal["normal", "heavy", "skewed", "stalling", "lucky", "drifting"]
"""How the logarithm of the speed varies between trials: normal; Student's t with 4 degrees of freedom; a Gumbel
distribution with its long tail to slow trials; normal, with one trial in 30 at half the speed; normal, with one in 30
a third faster or a quarter slower; normal, where each trial resembles the one before it (correlation 0.8)."""
_LAPSES: dict[Shape, tuple[float, float]] = {"stalling": (1 / 2, 1 / 2), "lucky": (3 / 4, 4 / 3)}
_RESEMBLES = 0.8


@dataclass(frozen=True)
class QueueServer:
    """``service_s`` is the mean CPU time of a request; a worker has ``quota_s`` of it in each period of 100 ms.

    It serves at most 800 requests/s; ``breaks`` is about where it breaks, as a share of that.
    """

    workers: int
    service_s: float
    limit_s: float
    quota_s: float = PERIOD_S
    breaks: float = 0.98

    @property
    def nominal(self) -> float:
        """Requests/s that it can serve at nominal speed."""
        return self.workers / self.service_s * self.quota_s / PERIOD_S


SERVERS = {
    "queue": QueueServer(8, 0.010, 0.200),
    "gentle": QueueServer(1, 0.00125, 0.012, breaks=0.52),
    "quota": QueueServer(1, 0.000125, 0.200, quota_s=0.01, breaks=0.97),
}
"""Eight workers that break steeply; one whose latency grows gently, as M/M/1 does; one of a tenth of a core."""


class Trials(NamedTuple):
    """Whether each trial held, and after how many seconds it was over, early abort included."""

    held: Bools
    over: Floats


def speeds(spread: float, shape: Shape, before: Floats, rng: np.random.Generator) -> Floats:
    """The server's speed in each trial; ``spread`` is the standard deviation of its logarithm, lapses left out.

    ``before``: the speeds of the trials before these, which those of a drifting server resemble.
    """
    trials = len(before)
    logarithm: Floats
    if shape == "heavy":
        logarithm = spread * np.sqrt(0.5) * rng.standard_t(4, trials)
    elif shape == "skewed":
        logarithm = -spread * np.sqrt(6) / np.pi * rng.gumbel(0, 1, trials)
    else:
        logarithm = rng.normal(0, spread, trials)
    if shape == "drifting":
        logarithm = _RESEMBLES * np.log(before) + np.sqrt(1 - _RESEMBLES**2) * logarithm
    if shape in _LAPSES:
        logarithm += np.where(rng.random(trials) < 1 / 30, np.log(rng.choice(_LAPSES[shape], trials)), 0.0)
    return np.exp(logarithm)


def run(server: QueueServer, loads: Floats, seconds: float, speed: Floats, rng: np.random.Generator) -> Trials:
    """One trial per load and speed."""
    held, over = np.empty(len(loads), dtype=np.bool_), np.empty(len(loads))
    capacity = np.array([server.workers, server.service_s, server.limit_s, server.quota_s])
    _run(np.asarray(loads, dtype=float), seconds, speed, rng, capacity, held, over)
    return Trials(held, np.minimum(over, seconds))


@numba.njit()
def _run(
    loads: Floats,
    seconds: float,
    speed: Floats,
    rng: np.random.Generator,
    capacity: Floats,
    held: Bools,
    over: Floats,
) -> None:
    workers, service_s, limit_s, quota_s = int(capacity[0]), capacity[1], capacity[2], capacity[3]
    free = np.empty(workers)
    for trial in range(len(loads)):
        expected = loads[trial] * seconds
        late = np.empty(int(expected + 8 * np.sqrt(expected)) + 20)
        free[:] = 0.0
        now, requests, violations = rng.exponential() / loads[trial], 0, 0
        while now < seconds:
            requests += 1
            worker = free.argmin()
            at = max(now, free[worker])
            work = rng.exponential() * service_s / speed[trial]
            while quota_s < PERIOD_S:
                period = np.floor(at / PERIOD_S + 1e-9)
                left = max(quota_s - (at - period * PERIOD_S), 0.0)
                if work <= left:
                    break
                work -= left
                at = (period + 1) * PERIOD_S
            free[worker] = at + work
            if free[worker] - now > limit_s:
                late[violations] = now
                violations += 1
            now += rng.exponential() / loads[trial]
        allowed = int(SHARE * requests)
        held[trial] = violations <= allowed
        # A violation is known when its limit has passed; the first one too many ends the trial.
        over[trial] = seconds if held[trial] else late[allowed] + limit_s


def truth(
    server: QueueServer, spread: float, shape: Shape, seconds: float, trials: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The loads at which 50 % and 95 % of independent trials of ``seconds`` hold, lapses left out, from ``trials``.

    A probit curve with a cubic in log load is fitted by maximum likelihood to 30 loads around the transition: flexible
    enough not to assume the model under test, and with 6000 trials good to about 0.1 % where trials differ by 5 %.
    """
    middle = server.breaks * server.nominal
    reach = max(0.06 if server.breaks > 0.9 else 0.3, 3 * spread)
    log_load = np.linspace(-reach, 0.7 * reach, 30)
    loads = np.repeat(middle * np.exp(log_load), trials // 30)
    of_trial = speeds(spread, shape if shape in ("heavy", "skewed") else "normal", np.ones(len(loads)), rng)
    held = run(server, loads, seconds, of_trial, rng).held.reshape(30, -1)
    count, of = held.sum(axis=1), held.shape[1]
    x = log_load / reach

    def surprise(c: Floats) -> float:
        z = np.polyval(c, x)
        return -float(np.sum(count * log_ndtr(z) + (of - count) * log_ndtr(-z)))

    exact = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-6, "fatol": 1e-6}
    fit = minimize(surprise, [0.0, 0.0, -2.0, 0.0], method="Nelder-Mead", options=exact)
    fine = np.linspace(x[0], x[-1], 20_001)
    holds = ndtr(np.polyval(fit.x, fine))
    half, most = (float(fine[np.argmax(holds < share)]) for share in (0.5, 0.95))
    return tuple(middle * float(np.exp(reach * at)) for at in (half, most))  # type: ignore[return-value]
