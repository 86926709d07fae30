"""The machine's speed over a run, from the reference loop beside every trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.analysis import drift
from loadstone.infrastructure.binary import reference_ms
from loadstone.model.records.trial_row import TrialRow
from loadstone.report import sentences
from loadstone.report.content import gather
from tests.synthetic import Synthetic
from tests.trial_rows import trial_row

Pair = tuple[float | None, float | None]


def trials(readings: list[Pair]) -> list[TrialRow]:
    return [
        trial_row(trial_id=str(n), order=n, reference_before_ms=before, reference_after_ms=after)
        for n, (before, after) in enumerate(readings, start=1)
    ]


@pytest.mark.parametrize(
    ("readings", "size"),
    [
        ([(4.0, 4.0)] * 10, 0.0),
        ([(4.0, 4.0)] * 5 + [(5.0, 5.0)] * 5, 0.25),
        ([(4.0, 4.0)] * 5 + [(9.0, 9.0)] + [(4.0, 4.0)] * 5, 0.0),
        ([(4.0, 9.0)] * 5 + [(4.0, 4.0)] * 5, 0.0),
        ([(None, 4.0), (4.0, None)] * 4, 0.0),
    ],
    ids=["steady", "slower for good", "one slow trial", "held up by what was left to do", "one reading each"],
)
def test_a_drift_is_what_lasts(readings: list[Pair], size: float) -> None:
    found = drift.drift(trials(readings))
    assert found is not None and found.size == pytest.approx(size)


def test_times_during_the_trials_are_preferred_each_relative_to_its_treatment() -> None:
    """A virtual machine, here of every other trial, is slower than its host without any drift."""
    rows = []
    for n, row in enumerate(trials([(4.0, 4.0), (9.0, 9.0)] * 8)):
        during = (3.0, 6.0)[n % 2] * (1.0, 1.2)[n > 7]
        rows.append(row.model_copy(update={"treatment_id": "ab"[n % 2], "reference_during_ms": during}))
    found = drift.drift(rows)
    assert found is not None and found.size == pytest.approx(0.2)
    assert drift.course(rows)[0].during_ms == 3.0
    rows[3] = rows[3].model_copy(update={"reference_during_ms": None})
    mixed = drift.drift(rows)
    assert mixed is not None and mixed.size == pytest.approx(1.25)
    rows[3] = rows[3].model_copy(update={"verdict": "invalid"})
    without = drift.drift(rows)
    assert without is not None and without.size < 0.4  # not 1.25, of those beside the trials


@pytest.mark.parametrize("readings", [[(4.0, 4.0)] * 4, [(None, None)] * 40])
def test_of_few_readings_and_of_earlier_releases_nothing_is_known(readings: list[Pair]) -> None:
    assert drift.drift(trials(readings)) is None


@pytest.mark.parametrize(
    ("readings", "base", "more"),
    [
        ([(5.0, 6.0), (7.0, 6.0)], [(4.0, 4.0)], 0.375),
        ([(4.0, 9.0)], [(8.0, 8.0), (None, 8.0)], -0.5),
        ([(None, None)], [(4.0, 4.0)], None),
        ([(4.0, 4.0)], [], None),
    ],
    ids=["slower", "faster", "not timed", "no base"],
)
def test_slower_is_a_ratio_of_means_of_the_shorter_readings(
    readings: list[Pair], base: list[Pair], more: float | None
) -> None:
    assert drift.slower(trials(readings), trials(base)) == pytest.approx(more)


def test_slower_is_by_the_times_during_trials_where_all_have_them() -> None:
    during = [
        [row.model_copy(update={"reference_during_ms": time}) for row in trials([(4.0, 4.0)] * 2)]
        for time in (3.0, 2.0)
    ]
    assert drift.slower(*during) == pytest.approx(0.5)
    assert drift.slower(during[0], [*during[1], *trials([(4.0, 4.0)])]) == pytest.approx(0.0)


def test_a_run_whose_machine_drifted_says_so_with_its_size(tmp_path: Path) -> None:
    content = gather(Synthetic(drift=0.3, duration_s=1.0).write(tmp_path))
    found = drift.drift(content.run.trials)
    assert found is not None and 0.1 < found.size < 0.3
    (caution,) = [text for text in sentences.warnings(content) if "drifted" in text]
    assert "the machine's speed drifted by " in caution and " during the run: " in caution
    assert "; this exceeds the requested precision of 5 %: another run may differ by more than the intervals" in caution
    assert "trials, while the machine's speed drifted by " in sentences.answer(content)


def test_a_steady_machine_and_an_earlier_release_are_not_spoken_of(tmp_path: Path) -> None:
    folder = Synthetic(duration_s=1.0).write(tmp_path)
    content = gather(folder)
    assert "drifted" not in " ".join([*sentences.warnings(content), sentences.answer(content)])
    assert content.tables["reference"].num_rows == len(content.run.trials)
    nothing = {"reference_before_ms": None, "reference_after_ms": None}
    assert drift.course([row.model_copy(update=nothing) for row in content.run.trials]) == []


def test_the_loop_can_be_timed_here() -> None:
    once = reference_ms()
    assert once is not None and once > 0


def test_without_the_binary_there_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_STONE", "/nowhere/stone")
    assert reference_ms() is None
