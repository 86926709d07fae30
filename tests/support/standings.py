"""What a kernel counts of a replica, as tests make it up."""

from __future__ import annotations

from loadstone.model.records.node import InForce, Standing, Used

_NOT_COUNTED = dict.fromkeys(("periods", "throttled_periods", "throttled_s", "memory_peak", "oom_kills"))


def used(**counted: float) -> Used:
    """Usage of one process; what is not given is not counted."""
    return Used.model_validate({**_NOT_COUNTED, "cpu_s": 1.0, "memory": 1, "pids": 1, **counted})


def standing(limits: InForce | None, usage: Used | None) -> Standing:
    """Of a replica that could be read."""
    return Standing(absent="", limits=limits, usage=usage, namespaces=None, events=None)
