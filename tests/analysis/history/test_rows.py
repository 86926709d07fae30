"""What a run leaves for the history of its study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from loadstone.analysis.history import rows
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
