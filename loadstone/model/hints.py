"""Names and keys of other tools that people write into a study, and what stands for them here."""

from __future__ import annotations

import re
from typing import Any

NAMES = {
    "docker": ("compose", "swarm"),
    "docker-compose": ("compose",),
    "docker-swarm": ("swarm",),
    "k3s": ("kubernetes",),
    "k8s": ("kubernetes",),
    "kube": ("kubernetes",),
}
"""What another name is called here: several where it is more than one thing."""

_OPEN = "load.rates: [100] offers that many requests per second (open loop)"
_KEYS = {
    "vus": f"load.closed: {{clients: [10]}} are virtual users that wait for answers; {_OPEN}",
    "stages": "load.rates: [100, 200, 400] measures each rate in trials of its own;"
    " load.arrival: {process: poisson, shape: [{for: 10s, from: 0.2, to: 1}]} changes the rate within one",
    "iterations": "load.closed: {clients: [10], requests: 100, iterations: 10} has each client send ten times a hundred"
    f" requests, without a trial.duration; {_OPEN}",
    "requests": "write trial: {requests: 10000}, beside `load` and without a duration",
    "duration": "write trial: {duration: 30s}, beside `load`",
    "warmup": "write trial: {warmup: 10s}, beside `load`",
    "repetitions": "write trial: {repetitions: 10}, beside `load`",
}
"""What to write for a key that stands under ``load`` and is not known there."""


def of_key(path: tuple[str | int, ...]) -> str | None:
    """``; ...`` for an unknown key of another tool; None for any other."""
    return f"; {_KEYS[str(path[-1])]}" if path[:-1] == ("load",) and path[-1] in _KEYS else None


def of_number(value: Any) -> str:
    """``; ...`` for a CPU in thousandths, as Kubernetes has them; else nothing."""
    match = re.fullmatch(r"(\d{1,9})m", value) if isinstance(value, str) else None
    return f"; write {int(match[1]) / 1000:g} for {match[1]} thousandths" if match else ""
