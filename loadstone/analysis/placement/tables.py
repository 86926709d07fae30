"""What each placement did at each load: one row each, means over its valid trials, null where machines lack it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import all_known, mean_of_all, total
from loadstone.analysis.metrics.network import BetweenRow, NetworkRow
from loadstone.analysis.metrics.power import ACTIVE, CstateRow, EnergyRow
from loadstone.analysis.schema import OfTrial, TableRow, rows
from loadstone.analysis.statistics.mean import arithmetic, mean
from loadstone.analysis.summary import Searched, TreatmentSummary
from loadstone.model.records.trial_row import TrialRow

FACTOR = "placement"
_Row = TypeVar("_Row", bound=OfTrial)


class PlacementLoad(TableRow, name="placement_loads"):
    """A placement at a fixed load: means over its valid trials with their 95 % intervals."""

    placement: str
    others: str
    trials: int
    held: int
    load: float
    mean_ms: float | None = None
    mean_ms_low: float | None = None
    mean_ms_high: float | None = None
    p99_ms: float | None = None
    p99_ms_low: float | None = None
    p99_ms_high: float | None = None
    executed_per_s: float | None = None
    executed_per_s_low: float | None = None
    executed_per_s_high: float | None = None
    dropped_share: float | None = None
    dropped_per_s: float | None = None
    c0_share: float | None = None
    transitions_per_s: float | None = None
    package_watts: float | None = None
    dram_watts: float | None = None
    watts: float | None = None
    joules_per_request: float | None = None
    between_bytes_per_s: float | None = None
    between_bytes_per_request: float | None = None


class PlacementCstate(TableRow, name="placement_cstates"):
    """A C-state under a placement and load: means over the nodes with replicas."""

    placement: str
    others: str
    state: str
    load: float
    share: float | None
    transitions_per_s: float | None


class PlacementNetwork(TableRow, name="placement_network"):
    """The bytes of a node under a placement and load."""

    placement: str
    others: str
    node: str
    role: str | None
    load: float
    received_bytes_per_s: float | None
    sent_bytes_per_s: float | None


class PlacementCapacity(TableRow, name="placement_capacity"):
    """A placement whose breaking point was searched."""

    placement: str
    others: str
    known: str
    breaking_point: float | None = None
    breaking_point_low: float | None = None
    breaking_point_high: float | None = None
    capacity: float | None = None
    capacity_low: float | None = None
    capacity_high: float | None = None


@dataclass(frozen=True)
class Tables:
    """``others`` are the levels of all other factors, empty where only placement is varied."""

    loads: list[PlacementLoad]
    cstates: list[PlacementCstate]
    network: list[PlacementNetwork]
    capacities: list[PlacementCapacity]

    def __bool__(self) -> bool:
        return bool(self.loads or self.capacities)


def tables(treatments: Sequence[TreatmentSummary], metrics: Mapping[str, pa.Table]) -> Tables:
    """The tables of a run that varies placement; ``metrics`` are the tables of ``analysis.metrics``."""
    cstates, energy = _by_trial(CstateRow, metrics), _by_trial(EnergyRow, metrics)
    network, between = _by_trial(NetworkRow, metrics), _by_trial(BetweenRow, metrics)
    found = Tables([], [], [], [])
    for treatment in treatments:
        if FACTOR not in treatment.levels:
            continue
        placement, other = treatment.levels[FACTOR], others(treatment)
        for load, trials in _by_load(treatment).items():
            ids = [trial.trial_id for trial in trials]
            states = [
                PlacementCstate(
                    placement=placement, others=other, load=load, state=state, share=share, transitions_per_s=entered
                )
                for state, share, entered in _states(_of(cstates, ids))
            ]
            found.cstates.extend(states)
            found.loads.append(
                PlacementLoad(
                    placement=placement,
                    others=other,
                    load=load,
                    **_measured(trials),
                    **_slept(states),
                    **_means(_of(energy, ids), "package_watts", "dram_watts", "watts", "joules_per_request"),
                    **_means(_of(between, ids), "between_bytes_per_s", "between_bytes_per_request"),
                )
            )
            for node, some in grouped(_of(network, ids), lambda row: row.node).items():
                means = _means(some, "received_bytes_per_s", "sent_bytes_per_s")
                row = PlacementNetwork(
                    placement=placement, others=other, load=load, node=node, role=some[0].role, **means
                )
                found.network.append(row)
        if treatment.searched is not None:
            found.capacities.append(_capacity(treatment, treatment.searched))
    return found


def others(treatment: TreatmentSummary) -> str:
    """The levels of all factors but placement: ``scaling=baseline``."""
    return " ".join(f"{name}={level}" for name, level in treatment.levels.items() if name != FACTOR)


def valid(treatment: TreatmentSummary) -> list[TrialRow]:
    """Valid trials at fixed loads."""
    return [row for row in treatment.trials if row.repeatable and row.valid and row.timed]


def _by_load(treatment: TreatmentSummary) -> dict[float, list[TrialRow]]:
    return dict(sorted(grouped(valid(treatment), lambda row: row.load).items()))


def _by_trial(kind: type[_Row], metrics: Mapping[str, pa.Table]) -> dict[str, list[_Row]]:
    return grouped(rows(kind, metrics[kind.NAME]), lambda row: row.trial_id) if kind.NAME in metrics else {}


def _of(by_trial: Mapping[str, list[_Row]], trial_ids: Iterable[str]) -> list[_Row]:
    return [row for trial_id in trial_ids for row in by_trial.get(trial_id, [])]


def _measured(trials: Sequence[TrialRow]) -> dict[str, Any]:
    """The columns that come from the trials' own rows; null where any trial has none, as it lost requests or broke."""
    found: dict[str, Any] = {"trials": len(trials), "held": sum(trial.verdict == "held" for trial in trials)}
    for name, column in (("mean_ms", "mean_ms"), ("p99_ms", "p99_ms"), ("executed_per_s", "throughput")):
        if values := all_known(getattr(trial, column) for trial in trials):
            known = mean(values) if name.endswith("_ms") and min(values) > 0 else arithmetic(values)
            found |= dict(zip((name, f"{name}_low", f"{name}_high"), (known.value, *known.ends), strict=True))
    if all(trial.offered and trial.window_s for trial in trials):
        scheduled = sum(trial.offered or 0 for trial in trials)
        dropped = scheduled - sum(trial.completed or 0 for trial in trials)
        found["dropped_share"] = dropped / scheduled
        found["dropped_per_s"] = dropped / sum(trial.window_s or 0.0 for trial in trials)
    return found


def _slept(states: Sequence[PlacementCstate]) -> dict[str, Any]:
    active = [state.share for state in states if state.state == ACTIVE]
    entered = total(state.transitions_per_s for state in states)
    return {"c0_share": active[0] if active else None, "transitions_per_s": entered}


def _states(some: Sequence[CstateRow]) -> Iterator[tuple[str, float | None, float | None]]:
    """Each state's mean share and transitions over the nodes with replicas and over trials."""
    for state, mine in grouped((row for row in some if row.replicas), lambda row: row.state).items():
        means = _means(mine, "share", "transitions_per_s")
        yield state, means["share"], means["transitions_per_s"]


def _capacity(treatment: TreatmentSummary, searched: Searched) -> PlacementCapacity:
    values: dict[str, float] = {}
    if searched.result is not None:
        for name, found in (("breaking_point", searched.result.breaking_point), ("capacity", searched.result.capacity)):
            values |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    return PlacementCapacity(
        placement=treatment.levels[FACTOR], others=others(treatment), known=searched.known, **values
    )


def _means(some: Sequence[object], *columns: str) -> dict[str, Any]:
    return {column: mean_of_all(getattr(row, column) for row in some) for column in columns}
