"""Offers to other load generators, and results that they may print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from loadstone.model.load import Load
from loadstone.model.workload import Workload
from loadstone.workloads.base import Offer
from loadstone.workloads.external import ToolResult, statistics

GET = Workload.model_validate({"operations": {"get": {"path": "/a?b=c", "headers": {"X-Token": "t 1"}}}})
OPEN = ToolResult(
    loop="open",
    seconds=20.0,
    completed=8000,
    answered=8000,
    errors=0,
    service=statistics(p50=1.0, p99=9.0, max=20.0),
)
CLOSED = replace(OPEN, loop="closed")


def offer(folder: Path = Path(), **changes: Any) -> Offer:
    """Twenty seconds at 400 requests/s over eight connections."""
    load = {"arrival": "constant", "connections": 8, "timeout": "2s", "rates": [400], "slo": {"p99": "200ms"}}
    requested = Offer(
        targets=("127.0.0.1:8080",),
        workload=GET,
        load=Load.model_validate(load),
        rate=400.0,
        clients=None,
        warmup_s=0.0,
        duration_s=20.0,
        seed=1,
        may_stop=False,
        cpus=(),
        folder=folder,
    )
    return replace(requested, **changes)


def closed(folder: Path = Path(), **changes: Any) -> Offer:
    """Twenty seconds of eight clients."""
    load = Load.model_validate({"closed": {"clients": [8], "think": "100ms"}, "timeout": "2s"})
    return replace(offer(folder, load=load, rate=0.0, clients=8), **changes)
