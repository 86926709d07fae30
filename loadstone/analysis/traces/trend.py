"""Which service is on the way to be the bottleneck: whose share of the critical path grows most with the load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from loadstone.analysis.schema import TableRow, rows, schema_of
from loadstone.analysis.traced_rows import ServiceTimes

Floats = NDArray[np.float64]
LEAST_LOADS, LEAST_TRIALS, LEAST_GAIN, SURE = 3, 4, 0.02, 0.05


class ServiceGrowth(TableRow):
    """Means over the trials of the lowest and of the highest load; the largest ``gain`` (of the share) first."""

    service: str
    share_low: float
    share_high: float
    gain: float
    per_request_low_ms: float
    per_request_high_ms: float


@dataclass(frozen=True)
class ShareGrowth:
    """``service`` is that whose share grows most, None where that is undecided; ``why`` is the reason as text."""

    service: str | None
    why: str
    table: pa.Table


def growth(trials: Sequence[tuple[float, pa.Table]]) -> ShareGrowth:
    """Names the service whose share of the critical path grows most from the lowest load to the highest.

    ``trials``: load (requests/s) and services table of each. A service's time here is what it had itself and what was
    spent on the way to it: ``critical_s - network_s + waited_s``. Growth is reported only if there are at least 4
    trials at 3 loads, the share grew by at least 0.02, and both it and its lead over the next rise with the load by
    Kendall's rank test (one-sided, 5 %), which takes any shape of rise: near its limit a service's share bends upwards.
    """
    loads = np.array([load for load, _ in trials], np.float64)
    names = sorted({name for _, table in trials for name in table["service"].to_pylist()})
    if len(np.unique(loads)) < 2 or not names:
        return ShareGrowth(None, "spans of trials at one load do not show what grows", _table(names, [], []))
    share, per_request = _shares(trials, names)
    low, high = loads == loads.min(), loads == loads.max()
    table = _table(
        names, [share[low].mean(0), share[high].mean(0)], [per_request[low].mean(0), per_request[high].mean(0)]
    )
    gain = share[high].mean(0) - share[low].mean(0)
    order = np.argsort(-gain, kind="stable")
    top = order[0]
    service, rise = names[top], f"from {share[low, top].mean():.0%} to {share[high, top].mean():.0%}"
    different = len(np.unique(loads))
    if different < LEAST_LOADS or len(loads) < LEAST_TRIALS:
        few = f"{len(loads)} trials at {different} loads are too few"
        return ShareGrowth(None, f"{few}: {LEAST_TRIALS} at {LEAST_LOADS} loads are needed", table)
    if gain[top] < LEAST_GAIN:
        return ShareGrowth(None, f"no service's share grows: the most is that of {service}, {rise}", table)
    if not _rises(loads, share[:, top]):
        return ShareGrowth(None, f"the share of {service} goes {rise}, but not steadily with the load", table)
    if len(names) > 1 and not _rises(loads, share[:, top] - share[:, order[1]]):
        return ShareGrowth(None, f"{service} and {names[order[1]]} grow alike", table)
    return ShareGrowth(service, f"the share of {service} in the critical path grows {rise}", table)


def _shares(trials: Sequence[tuple[float, pa.Table]], names: list[str]) -> tuple[Floats, Floats]:
    """Trials x services: share of the critical path, and ms by trace; 0 where a service has no spans."""
    share, per_request = np.zeros((len(trials), len(names))), np.zeros((len(trials), len(names)))
    place = {name: k for k, name in enumerate(names)}
    for row, (_, table) in enumerate(trials):
        services = rows(ServiceTimes, table)
        total = sum(service.critical_s for service in services) or 1.0
        requests_ms = sum(service.per_request_ms for service in services)
        for spent in services:
            part = (spent.critical_s - spent.network_s + spent.waited_s) / total
            share[row, place[spent.service]] = part
            per_request[row, place[spent.service]] = part * requests_ms
    return share, per_request


def _rises(loads: Floats, values: Floats) -> bool:
    from scipy.stats import kendalltau  # takes a second, and most runs have no traces

    return bool(kendalltau(loads, values, alternative="greater").pvalue < SURE)


def _table(names: list[str], shares: list[Floats], times: list[Floats]) -> pa.Table:
    if not shares:
        return schema_of(ServiceGrowth).empty_table()
    gain = shares[1] - shares[0]
    order = np.argsort(-gain, kind="stable")
    columns = [[names[k] for k in order], *(values[order] for values in (*shares, gain, *times))]
    return pa.table(columns, schema=schema_of(ServiceGrowth))
