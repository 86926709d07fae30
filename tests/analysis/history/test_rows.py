"""What a run leaves for the history of its study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from loadstone.analysis.history import rows
from loadstone.analysis.history.series import series
from loadstone.analysis.run import open_run
from tests.synthetic import Synthetic


def test_a_percentile_is_there_where_it_is_known_in_every_trial(tmp_path: Path) -> None:
    # At 2,000 requests/s a third gets no answer in time; at 500 a few do not, in one of two trials.
    run = open_run(Synthetic(rates=[200, 500, 2000], repetitions=2).write(tmp_path))
    slow = next(row for row in run.trials if row.rate == 500)
    bounded = slow.model_copy(update={"p99_ms": None, "latency_bound_ms": 2000.0})
    trials = tuple(bounded if row is slow else row for row in run.trials)
    found = {(row.load, row.quantity) for row in rows.of_run(replace(run, trials=trials))}
    assert found == {(200.0, "p50"), (200.0, "p99"), (500.0, "p50"), (2000.0, "p50")}


def test_a_trial_without_any_good_answer_leaves_no_latency_of_the_others(tmp_path: Path) -> None:
    run = open_run(Synthetic(rates=[200], repetitions=2).write(tmp_path))
    first, second = run.trials
    nothing = first.model_copy(update={"p50_ms": None, "p99_ms": None, "completed": 0})
    assert rows.of_run(replace(run, trials=(nothing, second))) == []


def test_the_interval_of_a_latency_holds_for_as_few_repetitions_as_there_are(tmp_path: Path) -> None:
    run = open_run(Synthetic(rates=[200], repetitions=3).write(tmp_path))
    p99 = next(row for row in rows.of_run(run) if row.quantity == "p99")
    logs = np.log([row.p99_ms for row in run.trials])
    error = logs.std(ddof=1) / np.sqrt(3)
    assert np.log([p99.low, p99.high]) == pytest.approx(stats.t.interval(0.95, 2, logs.mean(), error))
    assert p99.log_sd == pytest.approx(error)


def test_series_are_in_the_order_of_the_numbers_in_their_names(tmp_path: Path) -> None:
    (row, *_) = rows.of_run(open_run(Synthetic(rates=[200], repetitions=3).write(tmp_path)))
    found = series([replace(row, treatment=f"cluster.workers={workers}") for workers in (10, 9, 1)])
    assert [each.treatment for each in found] == [f"cluster.workers={workers}" for workers in (1, 9, 10)]
