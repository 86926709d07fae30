"""The event simulation of one replica under a CPU quota, compiled: when it may run, and how work piles up until then.

The kernel (CFS bandwidth control) lets a control group use ``budget`` seconds of CPU in every ``period``; what waits
meanwhile is served in one go when the next begins. The more visits wait, the less CPU each needs, for polls, wake-ups
and cold caches are shared: a replica takes all that waits as one batch; alone a visit costs ``mean`` seconds of CPU,
in a batch of n the share ``floor + (1 - floor) * n ** -falls`` of it. That is a gated queue whose service rate depends
on its length (Conway and Maxwell, "A queuing model with state dependent service rates", 1962), whose server is taken
away for the rest of a period when its budget is used.
A request visits the replica twice: it calls other services, which takes ``apart`` seconds, and answers when they have.
"""

from __future__ import annotations

import numpy as np

from loadstone.analysis.traces.compiled import kernel


@kernel
def run(  # type: ignore[no-untyped-def]
    seed, rate, trials, warm, seconds, mean, floor, falls, apart, budget, period, speed
):
    """Independent trials with Poisson arrivals at ``rate``, each ``warm + seconds`` long.

    ``speed``: how fast the replica runs while it may, in cores. Returns latencies in seconds of the requests that
    arrive in the measured windows, the trial of each, and by trial: CPU seconds in the window, and the share of its
    periods in which the budget was used up.
    """
    np.random.seed(seed)
    room = int(trials * seconds * rate * 1.05 + 200 + 8 * np.sqrt(trials * seconds * rate))
    latency, trial_of = np.empty(room), np.empty(room, np.int32)
    cpu, throttled = np.zeros(trials), np.zeros(trials)
    found = 0
    end = warm + seconds
    first = np.empty(int(end * rate * 1.1 + 200 + 8 * np.sqrt(end * rate)))
    back = np.empty(len(first))
    for trial in range(trials):
        count, at = 0, np.random.exponential(1 / rate)
        while at < end and count < len(first):
            first[count] = at
            count += 1
            at += np.random.exponential(1 / rate)
        now, refill, left = 0.0, np.random.random() * period, budget
        came, done = 0, 0
        arrived, returned = 0, 0
        batch, each = 0, mean
        while done < count:
            starts = came < count and (done == came or first[came] <= back[done])
            ready = first[came] if starts else back[done]
            now = max(now, ready)
            while arrived < count and first[arrived] <= now:
                arrived += 1
            while returned < came and back[returned] <= now:
                returned += 1
            if batch == 0:
                batch = (arrived - came) + (returned - done)
                each = mean * (floor + (1 - floor) * float(batch) ** -falls)
            batch -= 1
            work = np.random.exponential(1.0) * each
            while now >= refill:
                refill += period * (1 + np.floor((now - refill) / period))
                left = budget
            while True:
                part = min(work, left, (refill - now) * speed)
                now += part / speed
                left -= part
                work -= part
                if warm <= now < end:
                    cpu[trial] += part
                if work <= 1e-12:
                    break
                if left <= 1e-12:
                    if warm <= now < end:
                        throttled[trial] += 1
                    now = max(now, refill)
                if now >= refill - 1e-12:
                    now = refill
                    refill += period
                    left = budget
            if starts:
                back[came] = now + apart
                came += 1
            else:
                if first[done] >= warm and found < room:
                    latency[found], trial_of[found] = now - first[done], trial
                    found += 1
                done += 1
    return latency[:found], trial_of[:found], cpu, throttled * period / seconds
