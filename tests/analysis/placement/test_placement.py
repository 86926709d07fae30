"""Placements: what each did at each load, which is best and worst, and when that is undecided."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from loadstone.analysis import metrics, summary
from loadstone.analysis.metrics.power import CstateRow
from loadstone.analysis.placement import Extremes, Fastest, extremes, tables
from loadstone.analysis.placement.extremes import reference
from loadstone.analysis.placement.tables import PlacementCstate, PlacementLoad, Tables, _slept
from loadstone.analysis.run import open_run
from loadstone.analysis.schema import rows
from loadstone.model.records.trial_row import TrialRow
from loadstone.report.placement import _by_capacity
from tests.placements import SPLITS, placed


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return placed(tmp_path_factory.mktemp("results"))


def found(folder: Path) -> tuple[list[summary.TreatmentSummary], Tables]:
    run = open_run(folder)
    treatments = summary.treatments(run)
    return treatments, tables(treatments, metrics.gather(run).tables)


def test_every_placement_has_a_row_at_every_load(rich: Path) -> None:
    treatments, made = found(rich)
    every = made.loads
    assert [(row.placement, row.load) for row in every] == [(p, r) for p in SPLITS for r in (200, 500, 700)]
    for row in every:
        assert row.trials == 4 and row.others == ""
        assert row.p99_ms_low <= row.p99_ms <= row.p99_ms_high
    item = next(row for row in every if (row.placement, row.load) == ("FL-CD", 500))
    trials = [t for t in treatments[1].trials if t.rate == 500]
    assert item.executed_per_s == pytest.approx(fmean(t.throughput for t in trials))
    assert item.p99_ms == pytest.approx(math.exp(fmean(math.log(t.p99_ms) for t in trials)))
    offered, completed = (sum(getattr(t, name) for t in trials) for name in ("offered", "completed"))
    assert item.dropped_share == pytest.approx(1 - completed / offered)


def test_a_percentile_that_is_only_bounded_in_one_trial_has_no_mean(rich: Path) -> None:
    run = open_run(rich)
    lossy = run.trials[0].model_copy(update={"p99_ms": None, "latency_bound_ms": 2000.0})
    (first, *others) = tables(summary.treatments(replace(run, trials=(lossy, *run.trials[1:]))), {}).loads
    assert (first.trials, first.p99_ms, first.p99_ms_low, first.p99_ms_high) == (4, None, None, None)
    assert first.mean_ms is not None and all(row.p99_ms is not None for row in others)
    assert reference([row for row in (first, *others) if row.load == first.load]) is None


def test_a_placement_that_broke_in_one_trial_does_not_bear_the_load(rich: Path) -> None:
    """The means of the trials that it survived would make it the best."""
    run = open_run(rich)
    broke = next(row for row in run.trials if (row.factors["placement"], row.rate) == ("FLC-D", 700))
    stopped = TrialRow.model_validate({**dict(broke), "aborted_at_s": 0.5, "verdict": "not held"})
    trials = tuple(stopped if row is broke else row for row in run.trials)
    treatments = summary.treatments(replace(run, trials=trials))
    made = tables(treatments, {})
    (mine,) = [row for row in made.loads if (row.placement, row.load) == ("FLC-D", 700)]
    assert (mine.trials, mine.held) == (4, 3)
    assert (mine.p99_ms, mine.mean_ms, mine.executed_per_s, mine.dropped_share) == (None, None, None, None)
    assert reference(made.loads) == 500
    assert reference(tables(summary.treatments(run), {}).loads) == 700


def test_states_are_means_over_nodes_with_replicas_and_power_is_their_sum(rich: Path) -> None:
    _, made = found(rich)
    measured = metrics.gather(open_run(rich)).tables
    trial = open_run(rich).trials[0]
    at = [row for row in made.cstates if (row.placement, row.load) == ("FLC-D", 200)]
    assert sum(row.share for row in at) == pytest.approx(1)
    tested = [
        row.share for row in rows(CstateRow, measured["metrics_cstates"])
        if row.treatment == trial.treatment and row.load == 200 and row.replicas and row.state == "C0"
    ]  # fmt: skip
    row = made.loads[0]
    assert len(tested) == 4 * 2
    assert row.c0_share == pytest.approx(fmean(tested))
    assert row.watts == pytest.approx(row.package_watts + row.dram_watts)


def test_bytes_between_nodes_are_what_did_not_leave_for_the_client(tmp_path: Path) -> None:
    _, made = found(placed(tmp_path, "poor", rates=[450], repetitions=1))
    row = made.loads[0]
    # At half of what the synthetic machine bears, workers send 15 MB/s in full, and the client gets 2 MB/s of it.
    assert row.between_bytes_per_s == pytest.approx(0.5 * 13e6, rel=1e-3)
    assert row.between_bytes_per_request == pytest.approx(row.between_bytes_per_s / row.executed_per_s)
    assert {item.node: item.role for item in made.network} == {
        "client": "client", "worker-1": "worker", "worker-2": "worker"
    }  # fmt: skip


def test_what_machines_lack_is_null_and_not_zero(tmp_path: Path) -> None:
    _, made = found(placed(tmp_path, "poor", rates=[450], repetitions=1))
    for row in made.loads:
        assert [getattr(row, name) for name in ("c0_share", "transitions_per_s", "package_watts", "dram_watts")] == [
            None
        ] * 4
        assert row.p99_ms_low is None, "a single trial has no interval"
    assert made.cstates == []


def test_the_best_and_the_worst_at_the_highest_load_that_all_bear(rich: Path) -> None:
    treatments, made = found(rich)
    (item,) = extremes(treatments, made.loads, [], interleaved=True)
    assert isinstance(item, Fastest)
    assert (item.load, item.best.placement, item.worst.placement) == (700, "FLC-D", "FLD-C")
    assert item.ratio is not None and item.low is not None and item.high is not None
    assert item.ratio == pytest.approx(item.worst.p99_ms / item.best.p99_ms)
    assert item.low < item.ratio < item.high


@pytest.mark.parametrize("repetitions", [1, 4])
def test_equal_placements_are_not_differ(tmp_path: Path, repetitions: int) -> None:
    same = dict.fromkeys(SPLITS, 1000.0)
    treatments, made = found(placed(tmp_path, rates=[300], repetitions=repetitions, capacities=same, seed=2))
    (item,) = extremes(treatments, made.loads, [], interleaved=True)
    assert isinstance(item, Fastest) and not item.differ
    assert (item.ratio is None) == (repetitions == 1)


def test_capacities_are_compared_where_they_were_searched(tmp_path: Path) -> None:
    far = {"FLC-D": 1300.0, "FLD-C": 600.0}
    treatments, made = found(placed(tmp_path, rates=None, repetitions=1, capacities=far))
    assert made.loads == []
    capacities = made.capacities
    (item,) = extremes(treatments, [], capacities, interleaved=True)
    assert isinstance(item, Extremes) and item.differ
    assert (item.best.placement, item.worst.placement, item.placements) == ("FLC-D", "FLD-C", 2)


def test_the_load_that_is_reported() -> None:
    def row(placement: str, load: float, dropped: float, p99: float | None = 1.0) -> PlacementLoad:
        about: dict[str, Any] = {"placement": placement, "others": "", "trials": 1, "held": 1}
        return PlacementLoad(**about, load=load, dropped_share=dropped, p99_ms=p99)

    borne = [row("a", 1, 0), row("b", 1, 0), row("a", 2, 0), row("b", 2, 0.01), row("a", 3, 0), row("b", 3, 0.2)]
    assert reference(borne) == 2
    assert reference([*borne, row("a", 4, 0)]) == 2, "only one was measured at 4"
    assert reference([row("a", 5, 0.3), row("b", 5, 0.3), row("a", 6, 0.9), row("b", 6, 0.9)]) == 5
    assert reference([row("a", 1, 0)]) is None
    assert reference([row("a", 1, 0), row("b", 1, 0, None)]) is None


def test_a_run_that_varies_something_else_has_no_placements(rated: Path) -> None:
    _, made = found(rated)
    assert not made


def test_a_placement_without_an_estimate_may_be_the_best_or_the_worst(tmp_path: Path) -> None:
    far = {"FLC-D": 1300.0, "FLD-C": 600.0}
    treatments, made = found(placed(tmp_path, rates=None, repetitions=1, capacities=far))
    unknown = replace(made.capacities[0], placement="F-LCD", capacity=None)
    (item,) = extremes(treatments, [], [*made.capacities, unknown], interleaved=True)
    assert isinstance(item, Extremes) and (item.placements, item.unknown) == (2, 1)
    assert _by_capacity(item).endswith(". The capacity of 1 more is not known.")


def test_transitions_are_those_of_all_idle_states_or_unknown() -> None:
    about: dict[str, Any] = {"placement": "a", "others": "", "load": 1.0, "share": 0.5}
    states = [PlacementCstate(state=f"C{n}", transitions_per_s=n, **about) for n in (1.0, 2.0)]
    assert _slept(states)["transitions_per_s"] == 3
    assert _slept([*states, replace(states[0], state="C6", transitions_per_s=None)])["transitions_per_s"] is None
