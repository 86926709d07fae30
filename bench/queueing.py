"""A server of known capacity: independent trials of a multi-server queue.

Requests arrive as a Poisson process and wait in one first-come-first-served line for ``WORKERS`` workers with
exponential service times (Kiefer and Wolfowitz, "On the theory of queues with many servers", 1955: the earliest free
worker takes the next request). From trial to trial the server's speed varies, as machines do. A trial holds when at
most 1 % of its requests take longer than 200 ms, and is stopped as soon as it cannot hold any more.
"""

from __future__ import annotations

from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

WORKERS, SERVICE_S = 8, 0.010
LIMIT_S, SHARE = 0.2, 0.01
NOMINAL = WORKERS / SERVICE_S
"""Requests/s that the workers can serve at nominal speed: 800. The SLO breaks a little below."""
Shape = Literal["normal", "heavy", "skewed", "stalling"]
"""How the logarithm of the speed varies between trials: normal; Student's t with 4 degrees of freedom; a Gumbel
distribution with its long tail to slow trials; normal, with one trial in 30 at half the speed."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def speeds(spread: float, shape: Shape, trials: int, rng: np.random.Generator) -> Floats:
    """The server's speed in each trial; ``spread`` is the standard deviation of its logarithm, stalls left out."""
    if shape == "heavy":
        return np.exp(spread * np.sqrt(0.5) * rng.standard_t(4, trials))
    if shape == "skewed":
        return np.exp(-spread * np.sqrt(6) / np.pi * rng.gumbel(0, 1, trials))
    normal = np.exp(rng.normal(0, spread, trials))
    return np.where(rng.random(trials) < 1 / 30, normal / 2, normal) if shape == "stalling" else normal


def run(loads: Floats, seconds: float, speed: Floats, rng: np.random.Generator) -> tuple[Bools, Floats]:
    """One trial per load and speed: whether it held, and after how many seconds it was over (early abort included)."""
    held, over = np.empty(len(loads), dtype=np.bool_), np.empty(len(loads))
    _run(np.asarray(loads, dtype=float), seconds, speed, rng, held, over)
    return held, over


@numba.njit  # type: ignore[untyped-decorator, unused-ignore]
def _run(loads: Floats, seconds: float, speed: Floats, rng: np.random.Generator, held: Bools, over: Floats) -> None:
    free = np.empty(WORKERS)
    for trial in range(len(loads)):
        expected = loads[trial] * seconds
        late = np.empty(int(expected + 8 * np.sqrt(expected)) + 20)
        free[:] = 0.0
        now, requests, violations = rng.exponential() / loads[trial], 0, 0
        while now < seconds:
            requests += 1
            worker = free.argmin()
            free[worker] = max(now, free[worker]) + rng.exponential() * SERVICE_S / speed[trial]
            if free[worker] - now > LIMIT_S:
                late[violations] = now
                violations += 1
            now += rng.exponential() / loads[trial]
        allowed = int(SHARE * requests)
        held[trial] = violations <= allowed
        # A violation is known when its limit has passed; the first one too many ends the trial.
        over[trial] = seconds if held[trial] else min(seconds, late[allowed] + LIMIT_S)


def truth(spread: float, shape: Shape, seconds: float, trials: int, rng: np.random.Generator) -> tuple[float, float]:
    """The loads at which 50 % and 95 % of independent trials of ``seconds`` hold, stalls left out, from ``trials``.

    A probit curve with a cubic in log load is fitted by maximum likelihood to 30 loads around the transition: flexible
    enough not to assume the model under test, and with 6000 trials good to about 0.1 % where trials differ by 5 %.
    """
    reach = max(0.06, 3 * spread)
    log_load = np.linspace(-reach, 0.7 * reach, 30)
    loads = np.repeat(0.985 * NOMINAL * np.exp(log_load), trials // 30)
    of_trial = speeds(spread, "normal" if shape == "stalling" else shape, len(loads), rng)
    held = run(loads, seconds, of_trial, rng)[0].reshape(30, -1)
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
    return tuple(0.985 * NOMINAL * float(np.exp(reach * at)) for at in (half, most))  # type: ignore[return-value]
