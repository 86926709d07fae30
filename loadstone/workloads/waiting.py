"""What the load generator's way of waiting for its next send is chosen by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loadstone.model.load import Load


@dataclass(frozen=True)
class Waiting:
    """The same for all trials of a study: a change of the way of waiting would look like a change of the system."""

    rate: float | None
    """The highest requests/s of one load thread in any trial; None where answers or a trace decide the rate."""
    lateness: float | None
    """The least ``load.lateness``, in seconds; None where none is set."""


def waiting(loads: Iterable[Load]) -> Waiting:
    """How a study waits, from the loads of all its treatments."""
    rates, latenesses = [], []
    for load in loads:
        if (rate := _highest_rate(load)) is not None:
            rates.append(rate / (load.threads * (load.workers or 1)))
        if load.lateness is not None:
            latenesses.append(load.lateness)
    return Waiting(max(rates, default=None), min(latenesses, default=None))


def _highest_rate(load: Load) -> float | None:
    if load.closed is not None:
        return None
    return load.highest_rate if load.capacity is None else load.capacity.highest
