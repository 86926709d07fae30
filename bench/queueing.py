"""A server of known capacity: many independent trials of a multi-server queue at once, in NumPy.

Requests arrive as a Poisson process and wait in one first-come-first-served line for ``WORKERS`` workers with
exponential service times (Kiefer and Wolfowitz, "On the theory of queues with many servers", 1955: the earliest free
worker takes the next request). From trial to trial the server's speed strays log-normally, as machines do. A trial
holds when at most 1 % of its requests take longer than 200 ms, and is stopped as soon as it cannot hold any more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

WORKERS, SERVICE_S = 8, 0.010
LIMIT_S, SHARE = 0.2, 0.01
NOMINAL = WORKERS / SERVICE_S
"""Requests/s that the workers can serve at nominal speed: 800. The SLO breaks a little below."""
_AT_ONCE = 250

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def run(loads: Floats, seconds: float, spread: float, rng: np.random.Generator) -> tuple[Bools, Floats]:
    """One trial per load: whether it held, and after how many seconds it was over (early abort included).

    ``spread`` is the standard deviation of the logarithm of the server's speed between trials.
    """
    parts = [loads[i : i + _AT_ONCE] for i in range(0, len(loads), _AT_ONCE)]
    results = [_run(np.asarray(part, dtype=float), seconds, spread, rng) for part in parts]
    return np.concatenate([held for held, _ in results]), np.concatenate([over for _, over in results])


def _run(loads: Floats, seconds: float, spread: float, rng: np.random.Generator) -> tuple[Bools, Floats]:
    trials = len(loads)
    most = float(loads.max()) * seconds
    requests = int(most + 6 * np.sqrt(most)) + 10
    arrival = np.cumsum(rng.exponential(1, (requests, trials)) / loads, axis=0)
    service = rng.exponential(SERVICE_S, (requests, trials)) / np.exp(rng.normal(0, spread, trials))
    free = np.zeros((trials, WORKERS))
    free_flat, row = free.ravel(), np.arange(trials) * WORKERS
    done = np.empty((requests, trials))
    for i in range(requests):
        worker = free.argmin(axis=1) + row
        finish = np.maximum(arrival[i], free_flat[worker]) + service[i]
        free_flat[worker] = finish
        done[i] = finish
    scheduled = arrival < seconds
    violations = np.cumsum((done - arrival > LIMIT_S) & scheduled, axis=0)
    too_many = violations > SHARE * scheduled.sum(axis=0)
    held = ~too_many[-1]
    # A violation is known when its limit has passed; the first one too many ends the trial.
    known = arrival[too_many.argmax(axis=0), np.arange(trials)] + LIMIT_S
    return held, np.where(held, seconds, np.minimum(known, seconds))


def truth(spread: float, seconds: float, trials: int, rng: np.random.Generator) -> tuple[float, float]:
    """The loads at which 50 % and 95 % of independent trials of ``seconds`` hold, from ``trials`` of them.

    A probit curve with a cubic in log load is fitted by maximum likelihood to 30 loads around the transition: flexible
    enough not to assume the model under test, and with 6000 trials good to about 0.1 %.
    """
    reach = max(0.06, 3 * spread)
    log_load = np.linspace(-reach, 0.7 * reach, 30)
    loads = np.repeat(0.985 * NOMINAL * np.exp(log_load), trials // 30)
    held = run(loads, seconds, spread, rng)[0].reshape(30, -1)
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
