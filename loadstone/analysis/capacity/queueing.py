"""The event simulation of an open queueing network, compiled: replicas with CPU quotas on nodes with cores.

A request walks its tree of calls. Each call is a burst of CPU of exponential length at one replica, chosen at random:
it is let through by the replica's quota, which the kernel gives out anew each period (CFS, 100 ms), and then waits for
one of the node's cores, first come, first served. When it is done the calls below it are made, and when these have
returned it returns itself, of services that answer after a second burst as long as the first. A burst that finds its
replica idle is longer by what it costs to wake it. Arrivals are Poisson.
"""

from __future__ import annotations

import math

import numpy as np

from loadstone.analysis.traces.compiled import kernel

_ARRIVED, _LET, _DONE, _RETURNED = 0, 1, 2, 3


@kernel
def _push(at, what, size, time, slot, call, kind):  # type: ignore[no-untyped-def]
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if at[above] <= time:
            break
        at[place] = at[above]
        what[place] = what[above]
        place = above
    at[place] = time
    what[place, 0], what[place, 1], what[place, 2] = slot, call, kind
    return size + 1


@kernel
def _pop(at, what, size):  # type: ignore[no-untyped-def]
    """Removes the first; its content must have been read."""
    size -= 1
    time = at[size]
    slot, call, kind = what[size, 0], what[size, 1], what[size, 2]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and at[below + 1] < at[below]:
            below += 1
        if at[below] >= time:
            break
        at[place] = at[below]
        what[place] = what[below]
        place = below
    at[place] = time
    what[place, 0], what[place, 1], what[place, 2] = slot, call, kind
    return size


@kernel
def _let_through(replica, now, work, quota, period, current, left):  # type: ignore[no-untyped-def]
    """When a burst may begin, and the earliest that the quota lets it end."""
    budget = quota[replica] * period
    index = math.floor(now / period)
    if index > current[replica]:
        current[replica], left[replica] = index, budget
    begin = max(now, current[replica] * period)
    if left[replica] >= work:
        left[replica] -= work
        return begin, begin
    missing = work - left[replica]
    if left[replica] <= 0:
        begin = (current[replica] + 1) * period
    periods = math.ceil(missing / budget)
    current[replica] += periods
    last = missing - (periods - 1) * budget
    left[replica] = budget - last
    return begin, current[replica] * period + last


@kernel
def run(  # type: ignore[no-untyped-def]
    seed,
    rate,
    requests,
    warm,
    hop,
    call_service,
    call_chance,
    child_first,
    child_next,
    parent,
    parallel,
    work,
    wake,
    answers,
    service_first,
    service_count,
    replica_node,
    quota,
    period,
    node_first,
    node_cores,
    most_slots,
):
    """Simulates ``requests`` arrivals, of which the first ``warm`` do not count.

    Returns latencies (NaN: not done in time), busy seconds by node and by replica, and over how many seconds. ``work``:
    mean seconds of CPU of a burst by service, ``wake`` what it takes besides where the replica was idle, ``answers``
    whether there is a second burst; ``hop``: seconds that each call and each return takes besides.
    """
    np.random.seed(seed)
    calls = len(call_service)
    latency = np.full(requests, np.nan)
    began = np.empty(most_slots)
    number = np.empty(most_slots, np.int64)
    waiting = np.zeros((most_slots, calls), np.int16)
    upcoming = np.zeros((most_slots, calls), np.int16)
    replica_of = np.zeros((most_slots, calls), np.int32)
    pending = np.zeros((most_slots, calls), np.float64)
    ends = np.zeros((most_slots, calls), np.float64)
    answering = np.zeros((most_slots, calls), np.bool_)
    free = np.arange(most_slots - 1, -1, -1)
    spare = most_slots
    at = np.empty(most_slots * 8)
    what = np.empty((most_slots * 8, 3), np.int32)
    size = 0
    core_free = np.zeros(node_first[-1] + node_cores[-1])
    busy_node = np.zeros(len(node_first))
    busy_replica = np.zeros(len(replica_node))
    current = np.full(len(replica_node), -1.0)
    left = np.zeros(len(replica_node))
    at_work = np.zeros(len(replica_node))
    arrived = 0
    next_arrival = np.random.exponential(1 / rate)
    now = 0.0
    warm_at = 0.0
    while size > 0 or arrived < requests:
        if arrived < requests and (size == 0 or next_arrival <= at[0]):
            now = next_arrival
            if spare == 0 or size + 4 >= len(at):
                break
            spare -= 1
            slot = free[spare]
            began[slot], number[slot] = now, arrived
            if arrived == warm:
                warm_at = now
            arrived += 1
            next_arrival = now + np.random.exponential(1 / rate)
            size = _push(at, what, size, now, slot, 0, _ARRIVED)
            continue
        if arrived >= requests and now > 2 * next_arrival + 5:
            break
        now = at[0]
        slot, call, kind = what[0, 0], what[0, 1], what[0, 2]
        size = _pop(at, what, size)
        if kind == _ARRIVED:
            service = call_service[call]
            replica = replica_of[slot, call]
            if not answering[slot, call]:
                replica = service_first[service] + np.random.randint(service_count[service])
            burst = np.random.exponential(1.0) * work[service]
            if now >= at_work[replica]:
                burst += wake[service]
            replica_of[slot, call], pending[slot, call] = replica, burst
            begin, ends[slot, call] = now, now
            if quota[replica] > 0:
                begin, ends[slot, call] = _let_through(replica, now, burst, quota, period, current, left)
            at_work[replica] = max(at_work[replica], begin, ends[slot, call])
            if begin > now:
                size = _push(at, what, size, begin, slot, call, _LET)
                continue
            kind = _LET
        if kind == _LET:
            replica, burst = replica_of[slot, call], pending[slot, call]
            node = replica_node[replica]
            first = node_first[node]
            core = first
            for other in range(first + 1, first + node_cores[node]):
                if core_free[other] < core_free[core]:
                    core = other
            done = max(now, core_free[core]) + burst
            core_free[core] = done
            at_work[replica] = max(at_work[replica], done)
            if warm_at > 0 and arrived < requests:
                busy_node[node] += burst
                busy_replica[replica] += burst
            size = _push(at, what, size, max(done, ends[slot, call]), slot, call, _DONE)
            continue
        if kind == _DONE and answering[slot, call]:
            answering[slot, call] = False
        elif kind == _DONE:
            child, made = child_first[call], 0
            while child >= 0:
                if call_chance[child] >= 1.0 or np.random.random() < call_chance[child]:
                    size = _push(at, what, size, now + hop, slot, child, _ARRIVED)
                    made += 1
                    if not parallel:
                        break
                child = child_next[child]
            upcoming[slot, call] = child_next[child] if child >= 0 else -1
            waiting[slot, call] = made
            if made == 0 and answers[call_service[call]]:
                answering[slot, call] = True
                size = _push(at, what, size, now, slot, call, _ARRIVED)
                continue
        else:
            waiting[slot, call] -= 1
            child = upcoming[slot, call]
            while not parallel and child >= 0:
                after = child_next[child]
                if call_chance[child] >= 1.0 or np.random.random() < call_chance[child]:
                    size = _push(at, what, size, now + hop, slot, child, _ARRIVED)
                    waiting[slot, call] += 1
                    child = after
                    break
                child = after
            upcoming[slot, call] = child
            if waiting[slot, call] == 0 and answers[call_service[call]]:
                answering[slot, call] = True
                size = _push(at, what, size, now, slot, call, _ARRIVED)
                continue
        if waiting[slot, call] == 0:
            if call == 0:
                latency[number[slot]] = now - began[slot]
                free[spare] = slot
                spare += 1
            else:
                size = _push(at, what, size, now + hop, slot, parent[call], _RETURNED)
    return latency[warm:arrived], busy_node, busy_replica, next_arrival - warm_at
