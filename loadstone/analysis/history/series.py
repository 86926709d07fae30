"""The course of each quantity of a study, with its changes and those of the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.analysis.history.changes import ChangePoint, changes
from loadstone.analysis.history.rows import HistoryRow
from loadstone.model.base import by_number

_Key = tuple[str, str, str, float | None, str]
_ORDER = ("capacity", "breaking point", "p50", "p99")


@dataclass(frozen=True)
class RunSeries:
    """One quantity of one treatment at one load, run by run."""

    study: str
    treatment: str
    quantity: str
    load: float | None
    slo: str
    """The objective of a capacity or breaking point, which is another quantity with another objective; empty for a
    latency."""
    rows: tuple[HistoryRow, ...]
    """The oldest first."""
    changes: tuple[ChangePoint, ...]
    machines: tuple[int, ...]
    """The places of the runs whose machine is another one than the run's before."""

    @property
    def clients(self) -> int | None:
        """Those of a closed loop, of which ``load`` is the number; None where it is requests/s."""
        return self.rows[-1].clients

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return "ms" if self.quantity in ("p50", "p99") else "req/s"

    def better(self, change: ChangePoint) -> bool:
        """Whether a change is for the better."""
        return (change.ratio > 1) == (self.unit == "req/s")


def series(rows: Sequence[HistoryRow]) -> list[RunSeries]:
    """All series of the rows, which are the oldest first."""
    by_key: dict[_Key, list[HistoryRow]] = {}
    for row in rows:
        slo = row.slo if row.load is None else ""
        by_key.setdefault((row.study, row.treatment, row.quantity, row.load, slo), []).append(row)
    keys = sorted(by_key, key=lambda key: (key[0], _ORDER.index(key[2]), key[3] or 0.0, by_number(key[1])))
    return [_series(key, by_key[key]) for key in keys]


def _series(key: _Key, rows: Sequence[HistoryRow]) -> RunSeries:
    found = changes([math.log(row.value) for row in rows], [row.log_sd for row in rows])
    machines = tuple(i for i in range(1, len(rows)) if rows[i].machine != rows[i - 1].machine)
    return RunSeries(*key, tuple(rows), tuple(found), machines)
