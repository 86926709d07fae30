"""The audit, checks, usage and batches of a synthetic trial."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from loadstone.model.interference import Neighbour, Stressor

SERVICES = {
    "frontend": ("frontend", 0.30),
    "search": ("logic", 0.22),
    "geo": ("logic", 0.12),
    "rate": ("logic", 0.15),
    "profile": ("logic", 0.13),
    "recommendation": ("logic", 0.08),
    "memcached-rate": ("caching", 0.04),
    "memcached-profile": ("caching", 0.03),
    "documents-geo": ("storage", 0.01),
    "documents-reservation": ("storage", 0.02),
}
"""Tier, and CPU relative to the load's share of the capacity."""


def audit(invalid: bool) -> list[dict[str, Any]]:
    rows = []
    for service in SERVICES:
        files = [("files", "disk")] if service == "rate" else []  # of those that keep some
        for what, wanted in (("cpu", "1.00"), ("memory", "512MiB"), ("node", "local"), *files):
            wrong = invalid and service == "rate" and what == "cpu"
            effective = "0.50" if wrong else wanted
            row = {"replica": f"{service}-1", "node": "local", "what": what, "wanted": wanted, "effective": effective}
            rows.append({**row, "ok": not wrong})
    return rows


def checks(summary: dict[str, Any]) -> list[dict[str, Any]]:
    written = next(operation["all"] for operation in summary["operations"] if operation["name"] == "reserve")
    grown = written["completed"]
    text = f"reservation.reservation grew by {grown}, {grown} to {written['sent']} writes were made"
    return [{"store": "reservation", "collection": "reservation", "grown": grown, "ok": True, "message": text}]


def usage(random: np.random.Generator, load: float, seconds: float, capacity: float) -> list[dict[str, Any]]:
    rows = []
    for service, (tier, share) in SERVICES.items():
        cpu = 3 * share * min(load / capacity, 1.05) * seconds * float(random.normal(1, 0.03))
        throttled = max(0.0, cpu / seconds - 0.8) * seconds
        row = {"replica": f"{service}-1", "service": service, "tier": tier, "node": "local"}
        memory = {"memory_peak": int(random.uniform(2e7, 9e7)), "memory_peak_of": "window", "memory_limit": 2**29}
        used = {"window_s": seconds, "cpu_s": cpu, "throttled_s": throttled, "cpu_limit": 1.0}
        rows.append({**row, **used, **memory})
    return rows


def disturbance(wanted: Stressor | Neighbour, seconds: float, repetition: int) -> dict[str, Any]:
    """A neighbour that uses 0.5 cores on the first worker and 0.25 on the second, more in each further repetition."""
    if isinstance(wanted, Neighbour):
        return beside(wanted, seconds, repetition)
    return stressed(wanted, seconds, repetition)


def beside(neighbour: Neighbour, seconds: float, repetition: int) -> dict[str, Any]:
    """Another application that loses one in ten of its requests, and is slower in each further repetition."""
    offered = round(neighbour.rate * seconds)
    readings = [
        {"name": neighbour.application, "node": node, "window_s": seconds, "cpu_s": cores * seconds, "memory": 2**26}
        for node, cores in (("worker-1", 0.5), ("worker-2", 0.25))
    ]
    load = {"application": neighbour.application, "workload": "mixed", "rate": neighbour.rate, "window_s": seconds}
    counts = {"offered": offered, "completed": offered * 9 // 10, "errors": offered - offered * 9 // 10}
    counts |= {"late": 0, "timeouts": 0, "unsent": 0, "in_flight": 0}
    latencies = {"p50_ms": 4.0 * repetition, "p90_ms": 8.0 * repetition, "p99_ms": 16.0 * repetition}
    return {"level": str(neighbour), "readings": readings, "load": load | counts | latencies, "problems": []}


def stressed(stressor: Stressor, seconds: float, repetition: int) -> dict[str, Any]:
    readings = [
        {
            **{"name": stressor.stressor, "node": node, "window_s": seconds, "memory": 2**24},
            "cpu_s": cores * seconds * (1 + 0.1 * (repetition - 1)),
            "read": 0,
            "written": round(2**20 * seconds) if stressor.stressor == "hdd" else 0,
            **{"operations": round(300 * seconds), "operations_per_s": 300.0},
        }
        for node, cores in (("worker-1", 0.5), ("worker-2", 0.25))
    ]
    return {"level": str(stressor), "readings": readings, "problems": []}


def series(due: np.ndarray, latency_ms: np.ndarray, window_s: float, steps: int = 100) -> dict[str, Any]:
    """How a trial's latency went: the mean of what was due in each step of the window, null where nothing was."""
    step = np.minimum((due / window_s * steps).astype(int), steps - 1)
    count, total = np.bincount(step, minlength=steps), np.bincount(step, latency_ms, minlength=steps)
    means = [float(t / c) if c else None for c, t in zip(count, total, strict=True)]
    return {"step_s": window_s / steps, "mean_ms": means}


def batches(arrival: np.ndarray, finished: np.ndarray, window: float) -> list[dict[str, Any]]:
    edges = np.linspace(0, window, 11)
    batches = []
    for start, end in itertools.pairwise(edges):
        backlog = int((arrival < end).sum() - (finished < end).sum())
        offered = int(((arrival >= start) & (arrival < end)).sum())
        completed = int(((finished >= start) & (finished < end)).sum())
        batches.append({"start_s": float(start), "offered": offered, "completed": completed, "backlog": backlog})
    return batches
