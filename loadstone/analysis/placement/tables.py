"""What each placement did at each load: one row each, means over its valid trials, null where machines lack it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import stdtrit

from loadstone.analysis.metrics.power import ACTIVE
from loadstone.analysis.summary import Row, Searched, TreatmentSummary, load_of

FACTOR = "placement"
_ENERGY = ("package_watts", "dram_watts", "watts", "joules_per_request")
_BETWEEN = ("between_bytes_per_s", "between_bytes_per_request")
_WITH_INTERVAL = ("mean_ms", "p99_ms", "executed_per_s")
Rows = list[Row]


@dataclass(frozen=True)
class Tables:
    """``others`` are the levels of all other factors, empty where only placement is varied."""

    loads: pa.Table
    """A row for each placement and fixed load."""
    cstates: pa.Table
    """By placement, load and state: share and transitions, mean over the nodes with replicas."""
    network: pa.Table
    """By placement, load and node: bytes received and sent."""
    capacities: pa.Table
    """A row for each placement whose breaking point was searched."""

    def __bool__(self) -> bool:
        return bool(self.loads.num_rows or self.capacities.num_rows)


def tables(treatments: Sequence[TreatmentSummary], metrics: Mapping[str, pa.Table]) -> Tables:
    """Of a run that varies placement; ``metrics`` are the tables of ``analysis.metrics``."""
    observed = {name: _by_trial(metrics.get(name)) for name in _TABLES}
    loads, cstates, network = [], [], []
    placed = [treatment for treatment in treatments if FACTOR in treatment.levels]
    for treatment in placed:
        about = {"placement": treatment.levels[FACTOR], "others": others(treatment)}
        for load, trials in _by_load(treatment).items():
            at = {**about, "load": load}
            mine = {
                name: [row for t in trials for row in found.get(t["trial_id"], [])] for name, found in observed.items()
            }
            states = _states(mine["metrics_cstates"])
            loads.append({**at, **_row(trials, mine, states)})
            cstates += [{**at, **state} for state in states]
            network += [{**at, **node} for node in _nodes(mine["metrics_network"])]
    capacities = [_capacity(t, t.searched) for t in placed if t.searched is not None]
    return Tables(
        loads=pa.Table.from_pylist(loads, schema=_LOADS),
        cstates=pa.Table.from_pylist(cstates, schema=_CSTATES),
        network=pa.Table.from_pylist(network, schema=_NETWORK),
        capacities=pa.Table.from_pylist(capacities, schema=_CAPACITIES),
    )


def others(treatment: TreatmentSummary) -> str:
    """The levels of all factors but placement: ``scaling=baseline``."""
    return " ".join(f"{name}={level}" for name, level in treatment.levels.items() if name != FACTOR)


def valid(treatment: TreatmentSummary) -> Rows:
    """Valid trials at fixed loads."""
    rows = treatment.rows()
    return [row for row in rows if row["phase"] in ("fixed", "closed") and row["verdict"] != "invalid"]


def interval(values: Sequence[float], logarithmic: bool) -> tuple[float, float | None, float | None]:
    """Mean and its 95 % t-interval, of logarithms (a geometric mean) if ``logarithmic``; no interval for a
    single run."""
    numbers = np.log(values) if logarithmic else np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    ends: tuple[float | None, float | None] = (None, None)
    if len(numbers) > 1:
        half = float(stdtrit(len(numbers) - 1, 0.975) * numbers.std(ddof=1) / np.sqrt(len(numbers)))
        ends = (mean - half, mean + half)
    back: Callable[[float], float] = (lambda value: float(np.exp(value))) if logarithmic else float
    low, high = (None if end is None else back(end) for end in ends)
    return back(mean), low, high


def _by_load(treatment: TreatmentSummary) -> dict[float, Rows]:
    found: dict[float, Rows] = {}
    for row in valid(treatment):
        found.setdefault(load_of(row), []).append(row)
    return dict(sorted(found.items()))


def _by_trial(table: pa.Table | None) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in table.to_pylist() if table is not None else []:
        found.setdefault(row["trial_id"], []).append(row)
    return found


def _row(trials: Rows, observed: Mapping[str, Rows], states: Rows) -> Row:
    row: Row = {"trials": len(trials), "held": sum(trial["verdict"] == "held" for trial in trials)}
    values = {"mean_ms": _known(trials, "mean_ms"), "p99_ms": _known(trials, "p99_ms")}
    values["executed_per_s"] = _known(trials, "throughput")
    for name in _WITH_INTERVAL:
        if values[name]:
            found = interval(values[name], logarithmic=name.endswith("_ms") and min(values[name]) > 0)
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), found, strict=True))
    offered = [trial for trial in trials if trial["offered"]]
    scheduled = sum(trial["offered"] for trial in offered)
    if scheduled:
        dropped = scheduled - sum(trial["completed"] for trial in offered)
        row |= {
            "dropped_share": dropped / scheduled,
            "dropped_per_s": dropped / sum(trial["window_s"] for trial in offered),
        }
    active = [state["share"] for state in states if state["state"] == ACTIVE]
    entered = [state["transitions_per_s"] for state in states if state["transitions_per_s"] is not None]
    row |= {"c0_share": active[0] if active else None, "transitions_per_s": sum(entered) if entered else None}
    row |= {name: _mean(observed["metrics_energy"], name) for name in _ENERGY}
    return row | {name: _mean(observed["metrics_between"], name) for name in _BETWEEN}


def _states(rows: Rows) -> Rows:
    """Each state's mean over the nodes with replicas and over trials."""
    tested = [row for row in rows if row["replicas"]]
    return [
        {"state": state, **{name: _mean(_of(tested, "state", state), name) for name in ("share", "transitions_per_s")}}
        for state in dict.fromkeys(row["state"] for row in tested)
    ]


def _nodes(rows: Rows) -> Rows:
    return [
        {
            "node": node,
            "role": _of(rows, "node", node)[0]["role"],
            **{name: _mean(_of(rows, "node", node), name) for name in ("received_bytes_per_s", "sent_bytes_per_s")},
        }
        for node in dict.fromkeys(row["node"] for row in rows)
    ]


def _capacity(treatment: TreatmentSummary, searched: Searched) -> Row:
    row: Row = {"placement": treatment.levels[FACTOR], "others": others(treatment), "known": searched.known}
    if searched.result is not None:
        for name in ("breaking_point", "capacity"):
            found = getattr(searched.result, name)
            row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    return row


def _of(rows: Rows, column: str, value: Any) -> Rows:
    return [row for row in rows if row[column] == value]


def _known(rows: Iterable[Row], column: str) -> list[float]:
    return [row[column] for row in rows if row[column] is not None]


def _mean(rows: Rows, column: str) -> float | None:
    """Null where any trial has none: a mean over the rest would pass for all."""
    values = _known(rows, column)
    return fmean(values) if values and len(values) == len(rows) else None


def _schema(texts: Sequence[str], counts: Sequence[str], numbers: Sequence[str]) -> pa.Schema:
    kinds = ((texts, pa.string()), (counts, pa.int64()), (numbers, pa.float64()))
    return pa.schema([(name, kind) for names, kind in kinds for name in names])


def _ends(*names: str) -> list[str]:
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


_ABOUT = ("placement", "others")
_TABLES = ("metrics_cstates", "metrics_energy", "metrics_network", "metrics_between")
_LOADS = _schema(
    _ABOUT,
    ("trials", "held"),
    (
        "load",
        *_ends(*_WITH_INTERVAL),
        "dropped_share",
        "dropped_per_s",
        "c0_share",
        "transitions_per_s",
        *_ENERGY,
        *_BETWEEN,
    ),
)
_CSTATES = _schema((*_ABOUT, "state"), (), ("load", "share", "transitions_per_s"))
_NETWORK = _schema((*_ABOUT, "node", "role"), (), ("load", "received_bytes_per_s", "sent_bytes_per_s"))
_CAPACITIES = _schema((*_ABOUT, "known"), (), _ends("breaking_point", "capacity"))
