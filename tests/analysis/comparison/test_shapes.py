"""Where whole distributions differ, as far as logs and what they observed go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.analysis import comparison
from loadstone.analysis.run import RunFolder, open_run
from tests.distributions import write_hlog
from tests.synthetic import Synthetic


@pytest.fixture
def logged(tmp_path: Path) -> RunFolder:
    """Three blocks of two treatments, whose trials have logs of a thousand latencies from 1 to 2 ms."""
    levels = dict.fromkeys(("baseline", "vertical"), 1250.0)
    run = open_run(Synthetic(levels, rates=[200.0], repetitions=3, duration_s=1.0).write(tmp_path))
    for trial in run.folder.glob("trials/*/"):
        write_hlog(trial / "latency.hlog", {"intended": range(1000, 2000)})
    return run


def test_every_percentile_with_enough_beyond_it_has_a_shift(logged: RunFolder) -> None:
    found = comparison.within(logged)
    assert [row.percentile for row in found.shifts] == [5, 10, 25, 50, 75, 90, 95, 99]
    assert len(found.shapes) == 1


def test_a_percentile_of_which_only_a_lower_bound_is_known_has_no_shift(logged: RunFolder) -> None:
    first, *others = logged.trials
    assert first.offered is not None
    lossy = first.model_copy(update={"completed": round(0.93 * first.offered)})
    found = comparison.within(replace(logged, trials=(lossy, *others)))
    assert [row.percentile for row in found.shifts] == [5, 10, 25, 50, 75, 90]


def test_a_damaged_log_is_named_and_one_that_a_driver_does_not_leave_is_not(logged: RunFolder) -> None:
    damaged, absent, *_ = (logged.folder / "trials" / row.trial_id / "latency.hlog" for row in logged.trials)
    damaged.write_text("Tag=intended\n")
    absent.unlink()
    [named] = [text for text in comparison.within(logged).warnings if "latency.hlog" in text]
    place = damaged.relative_to(logged.folder)
    assert named.startswith(f"left out of the shapes of distributions: {place}: cannot be read as an HdrHistogram log")
