"""The tables of operations, services and root durations over time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from loadstone.analysis.schema import schema_of
from loadstone.analysis.traced_rows import HeatCell, OperationTimes, ServiceTimes
from loadstone.analysis.traces.critical import Critical
from loadstone.analysis.traces.grouping import percentiles
from loadstone.analysis.traces.owners import Owners
from loadstone.analysis.traces.spans import Ints, Rows, SpanColumns

_STEPS = 20
_LEVELS = 1000
"""More than there are: 2^63 ns is 16 decades above 1 us."""
_MOST_COLUMNS = 120
_PERCENTILES = (50.0, 90.0, 99.0)


def operations(
    groups: Rows, texts: list[tuple[str, ...]], failed: NDArray[np.bool_], total: Ints, exclusive: Ints
) -> pa.Table:
    """See ``OperationTimes``.

    ``texts``: service, operation, peer by group; ``total`` and ``exclusive`` in ns, by span.
    """
    size = len(texts)
    count = np.bincount(groups, minlength=size)
    errors = np.bincount(groups[failed], minlength=size)
    spent = np.bincount(groups, total, size)
    of_total = percentiles(total, groups, size, _PERCENTILES) / 1e6
    of_exclusive = percentiles(exclusive, groups, size, _PERCENTILES) / 1e6
    alone = np.bincount(groups, exclusive, size)
    order = np.argsort(-spent, kind="stable")
    columns = [
        *([texts[k][part] for k in order] for part in range(3)),
        *(values[order] for values in (count, errors, *of_total.T, spent / count / 1e6)),
        *(values[order] for values in (of_exclusive[:, 0], of_exclusive[:, 2], alone / count / 1e6)),
    ]
    return pa.table(columns, schema=schema_of(OperationTimes))


def services(spans: SpanColumns, critical: Critical, owners: Owners) -> pa.Table:
    """See ``ServiceTimes``."""
    names, owner = owners.service.names, owners.service.codes
    size = len(names)
    on_path = np.maximum(critical.on_path, 0)
    calls = np.flatnonzero(owners.callee >= 0)
    count = np.bincount(owner, minlength=size)
    exclusive, spent = np.bincount(owner, critical.exclusive, size), np.bincount(owner, on_path, size)
    network = np.bincount(owner[calls], on_path[calls], size)
    waited = np.bincount(owners.callee[calls], on_path[calls], size)
    order = [k for k in np.argsort(-spent, kind="stable") if count[k]]
    columns = [
        [names[k] for k in order],
        count[order],
        exclusive[order] / 1e9,
        spent[order] / 1e9,
        spent[order] / max(float(spent.sum()), 1.0),
        spent[order] / max(spans.traces, 1) / 1e6,
        network[order] / 1e9,
        waited[order] / 1e9,
    ]
    return pa.table(columns, schema=schema_of(ServiceTimes))


def heat(start: Ints, duration: Ints) -> pa.Table:
    """See ``HeatCell``. Start and duration of the roots in ns."""
    if not len(start):
        return schema_of(HeatCell).empty_table()
    since = (start - start.min()) / 1e9
    width = _width(float(since.max()))
    column = (since / width).astype(np.int64)
    level = _levels(duration)
    cells, count = np.unique(column * _LEVELS + level, return_counts=True)
    column, level = np.divmod(cells, _LEVELS)
    low = np.where(level > 0, 1e-3 * 10 ** ((level - 1) / _STEPS), 0.0)
    high = 1e-3 * 10 ** (level / _STEPS)
    return pa.table([column * width, (column + 1) * width, low, high, count], schema=schema_of(HeatCell))


def _levels(duration: Ints) -> NDArray[np.int64]:
    """0 below 1 us, else the step of the logarithmic scale, from 1."""
    microseconds = np.maximum(duration / 1e3, 1e-3)
    step: Ints = np.floor(np.log10(microseconds) * _STEPS).astype(np.int64)
    return np.maximum(step + 1, 0)


def _width(seconds: float) -> float:
    """The width of a column of time in seconds: 0.1, 0.2, 0.5, 1 ..., so that there are at most about a hundred."""
    decade = 0.1
    while True:
        for factor in (1, 2, 5):
            if seconds <= factor * decade * _MOST_COLUMNS:
                return factor * decade
        decade *= 10
