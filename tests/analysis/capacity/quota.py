"""A process under a CPU quota that is not built as the model is: an event loop that polls, so the truth is known.

It takes all that waits at once (at most ``BATCH``), pays for the poll and for each request, the cost of which is
log-normal by the kind of request, and hands the batch to the others; when they have answered, it polls these likewise.
Time goes in steps of 0.1 ms, in each of which it may run if its quota of the 100 ms is not used up.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from loadstone.analysis.capacity import Objective
from loadstone.analysis.capacity.demands import Point

POLL_S, EACH_S, SPREAD, OTHERS_S, BATCH = 0.00015, 0.00013, 0.6, 0.0015, 64
STEP_S, PERIODS = 0.0001, 1000


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _run(
    seed: int, rate: float, seconds: float, quota: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    np.random.seed(seed)
    arrivals = np.empty(int(seconds * rate * 1.2 + 300))
    count, at = 0, np.random.exponential(1 / rate)
    while at < seconds:
        arrivals[count] = at
        count += 1
        at += np.random.exponential(1 / rate)
    done, back = np.full(count, np.nan), np.full(count, np.inf)
    came, answered, left, owed, used = 0, 0, quota * 0.1, 0.0, 0.0
    batch_from, batch_to, batch_answers, phase = 0, 0, False, np.random.randint(PERIODS)
    for step in range(int((seconds + 5) / STEP_S)):
        now = step * STEP_S
        if (step + phase) % PERIODS == 0:
            left = quota * 0.1
        if left <= 0:
            continue
        if owed <= 0:
            # The batch is over: what it took is answered, or sent on.
            for number in range(batch_from, batch_to):
                if batch_answers:
                    done[number] = now
                else:
                    back[number] = now + OTHERS_S
            batch_from = batch_to = 0
            if answered < came and back[answered] <= now:
                batch_answers, batch_from = True, answered
                while answered < came and answered - batch_from < BATCH and back[answered] <= now:
                    answered += 1
                batch_to = answered
            elif came < count and arrivals[came] <= now:
                batch_answers, batch_from = False, came
                while came < count and came - batch_from < BATCH and arrivals[came] <= now:
                    came += 1
                batch_to = came
            else:
                if answered == count:
                    break
                continue
            owed += POLL_S
            for _ in range(batch_from, batch_to):
                owed += EACH_S * np.exp(SPREAD * np.random.standard_normal() - SPREAD**2 / 2)
        owed -= STEP_S
        left -= STEP_S
        if 2 <= now < seconds:
            used += STEP_S
    return arrivals[:count], done, used


def trial(seed: int, rate: float, quota: float, replicas: int, objective: Objective) -> tuple[bool, float]:
    """Whether a trial at ``rate`` of all replicas holds, and the cores of the first replica."""
    seconds = objective.warm_s + objective.window_s
    latency, cores = [], 0.0
    for replica in range(replicas):
        arrived, done, used = _run(100 * seed + replica, rate / replicas, seconds, quota)
        counts = arrived >= objective.warm_s
        latency.append(np.where(np.isnan(done), 9.0, done - arrived)[counts])
        cores = cores or used / objective.window_s
    together = np.concatenate(latency)
    return all(np.mean(together > limit) <= share for share, limit in objective.limits), cores


def point(seed: int, rate: float, quota: float, objective: Objective) -> Point:
    """One replica's CPU in a trial."""
    return Point(rate, trial(seed, rate, quota, 1, objective)[1], objective.window_s, f"trial {seed}")


def truth(quota: float, replicas: int, objective: Objective, trials: int = 24) -> float:
    """Requests/s at which half of the trials hold, by bisection."""
    low, high = 0.1 * replicas * quota / EACH_S, replicas * quota / EACH_S
    for _ in range(8):
        middle = float(np.sqrt(low * high))
        held = np.mean([trial(seed, middle, quota, replicas, objective)[0] for seed in range(trials)])
        low, high = (middle, high) if held >= 0.5 else (low, middle)
    return float(np.sqrt(low * high))
