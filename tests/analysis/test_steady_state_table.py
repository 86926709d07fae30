"""Latency over time, and the verdict on it with its places in time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from loadstone.analysis import steady_state_table
from loadstone.analysis.run import hlog, open_run
from loadstone.model.records.summary import Series
from tests.synthetic import Synthetic


def noisy(count: int, mean: float = 10.0) -> list[float | None]:
    return list(np.random.default_rng(1).normal(mean, mean / 20, count))


def log(file: Path, intervals: list[tuple[float, float, str, list[float]]]) -> Path:
    """An interval log: start and end in s, the tag, latencies in ms."""
    lines = ["#[Histogram log format version 1.3]"]
    for start, end, tag, latencies in intervals:
        histogram = HdrHistogram(1000, 7_200_000_000_000, 3)
        for value in latencies:
            histogram.record_value(int(value * 1e6))
        encoded = histogram.encode().decode()
        tagged = "" if tag == "intended" else f"Tag={tag},"
        lines.append(f"{tagged}{1.8e9 + start:.6f},{end - start:.6f},{max(latencies, default=0):.6f},{encoded}")
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
    return file


def test_times_are_those_of_the_steps_that_are_left():
    """The first ten of 100 steps of 0.1 s are slow, and every other one of them is empty."""
    series = [None if step % 2 else 80.0 for step in range(20)] + [10.0] * 80
    judged = steady_state_table.judge(Series(step_s=0.1, mean_ms=tuple(series)))
    assert judged is not None and judged.state.stationary
    assert judged.state.cut == 10
    assert judged.cut_s == pytest.approx(2.0)


def test_a_jump_is_placed_in_time():
    judged = steady_state_table.judge(Series(step_s=0.07, mean_ms=tuple(noisy(60) + noisy(40, 20.0))))
    assert judged is not None and judged.state.stationary is False
    if judged.changes_s:
        assert judged.changes_s[0] == pytest.approx(60 * 0.07, abs=0.2)
    else:
        assert judged.state.drift is not None and judged.state.drift > 0.05


def test_without_a_course_there_is_no_verdict():
    assert steady_state_table.judge(None) is None
    assert steady_state_table.judge(Series(step_s=0.1, mean_ms=(None, None))) is None


def test_every_trial_has_a_row_and_trials_that_were_stopped_have_no_verdict(tmp_path: Path):
    run = open_run(Synthetic(duration_s=2.0).write(tmp_path))
    rows = steady_state_table.steady(run)
    assert [row.trial_id for row in rows] == [row.trial_id for row in run.trials]
    stopped = {row.trial_id for row in run.trials if row.aborted_at_s is not None}
    assert stopped and {row.trial_id for row in rows if not row.judged} == stopped
    assert all(row.stationary is None and row.reason == "stopped early" for row in rows if not row.judged)


def test_latency_over_time_is_of_the_summary_and_of_the_log(tmp_path: Path):
    run = open_run(Synthetic(rates=[300], duration_s=2.0).write(tmp_path))
    (row,) = run.trials
    file = run.folder / "trials" / row.trial_id / hlog.FILE
    log(file, [(0, 1, "intended", [1, 2, 90]), (0, 1, "service", [1]), (1, 2, "intended", [4, 4, 4])])
    found, problems = steady_state_table.over_time(run, [row])
    assert problems == []
    seconds = [(item.what, item.from_s, item.to_s, item.requests) for item in found if item.what != "mean"]
    assert seconds == [("p50", 0, 1, 3), ("p99", 0, 1, 3), ("p50", 1, 2, 3), ("p99", 1, 2, 3)]
    assert [round(item.ms) for item in found if item.what != "mean"] == [2, 90, 4, 4]
    means = json.loads(file.with_name("summary.json").read_text())["series"]["mean_ms"]
    assert [item.ms for item in found if item.what == "mean"] == [mean for mean in means if mean is not None]
    file.write_text(file.read_text()[:-40])
    found, problems = steady_state_table.over_time(run, [row])
    assert len(problems) == 1 and problems[0].startswith(f"not shown over time: {row.trial_id}/latency.hlog cannot")
    assert {item.what for item in found} == {"mean"}


def test_requests_without_an_answer_are_no_interval_and_short_ones_are_left_out(tmp_path: Path):
    file = log(
        tmp_path / "latency.hlog",
        [
            (0, 0, "intended", [1]),
            (0, 1, "intended", [1]),
            (1, 2, "intended", []),
            (2, 3, "intended", [2, 2]),
            (3, 3.4, "intended", [3]),
            (3, 3.4, "intended:hotels", [2000]),
            (2, 3.4, "intended", [2000, 2000]),
        ],
    )
    found, problem = hlog.intervals(file)
    assert problem == ""
    assert [(item.start_s, item.end_s, item.count) for item in found] == [(0, 1, 1), (2, 3, 2)]
    assert [interval.count for interval in hlog.intervals(file, "intended:hotels")[0]] == [1]
    assert hlog.intervals(tmp_path / "none.hlog") == ([], "")


def test_one_interval_that_a_stall_made_long_does_not_make_all_others_short(tmp_path: Path):
    seconds = [(0, 1), (1, 2), (2, 5), (5, 6), (6, 7)]
    file = log(tmp_path / "latency.hlog", [(start, end, "intended", [1]) for start, end in seconds])
    found, _ = hlog.intervals(file)
    assert [(item.start_s, item.end_s) for item in found] == seconds
