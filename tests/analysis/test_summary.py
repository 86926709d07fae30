"""What treatments came to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.analysis import summary
from loadstone.analysis.episodes import Episode
from loadstone.analysis.run import open_run
from loadstone.analysis.summary import TreatmentSummary
from tests.synthetic import Synthetic
from tests.trial_rows import trial_row


def treatments(folder: Path) -> list[TreatmentSummary]:
    return summary.treatments(open_run(folder))


def test_a_finished_search_finds_the_breaking_point_of_each_treatment(searched: Path):
    for treatment, capacity in zip(treatments(searched), (700, 1250), strict=True):
        assert treatment.searched is not None and treatment.searched.result is not None
        point = treatment.searched.result.breaking_point
        # A queue of this capacity breaks a little above it in so short a window.
        assert 0.95 * capacity < point.value < 1.15 * capacity
        assert point.low < point.value < point.high
        assert treatment.searched.known == "estimated"
        assert treatment.planned is None


def test_the_evidence_is_every_valid_trial_of_the_treatment(searched: Path):
    for treatment in treatments(searched):
        assert treatment.searched is not None
        named = {*treatment.searched.evidence, *treatment.searched.bracket}
        valid = {row.trial_id for row in treatment.trials if row.verdict != "invalid"}
        assert named == valid
        assert treatment.count("held") + treatment.count("not held") == len(valid)
    assert sum(treatment.count("invalid") for treatment in treatments(searched)) == 1


def test_the_table_repeats_the_estimates(searched: Path):
    found = treatments(searched)
    rows = summary.breaking_points(found)
    assert [row.treatment for row in rows] == ["scaling=baseline", "scaling=vertical"]
    for row, treatment in zip(rows, found, strict=True):
        assert treatment.searched is not None and treatment.searched.result is not None
        assert row.breaking_point == treatment.searched.result.breaking_point.value
        assert row.capacity_low == treatment.searched.result.capacity.low
        assert row.full_trials == len(row.evidence.split())


def test_several_searches_are_given_each_and_together(tmp_path: Path):
    (treatment,) = treatments(Synthetic(repetitions=2).write(tmp_path))
    assert treatment.searched is not None
    assert [search.repetition for search in treatment.searches] == [1, 2]
    together = {id for search in treatment.searches for id in search.evidence}
    assert together == set(treatment.searched.evidence)
    assert [row.search for row in summary.breaking_points([treatment])] == [None, 1, 2]


def test_fixed_rates_hold_up_to_the_rate_below_the_first_that_broke(rated: Path):
    (treatment,) = treatments(rated)
    assert treatment.searched is None
    assert (treatment.held_up_to, treatment.breaks_from) == (500, 2000)
    assert treatment.reference == 500
    assert treatment.planned == 9


def test_a_held_trial_above_a_broken_one_is_no_limit():
    """One rate that broke is enough: what held above it was luck, or an error."""
    rows = [(100, "held"), (200, "not held"), (300, "held"), (400, "invalid")]
    assert _treatment(rows).held_up_to == 100
    assert _treatment(rows).breaks_from == 200
    assert _treatment([(100, "held"), (200, "held"), (200, "not held")]).held_up_to == 100
    assert _treatment([(100, "not held"), (200, "held")]).held_up_to is None
    assert _treatment([(100, "invalid")]).reference is None


def _treatment(rows: list[tuple[float, str]]) -> TreatmentSummary:
    trials = tuple(trial_row(rate=float(rate), verdict=verdict) for rate, verdict in rows)
    return TreatmentSummary("id", "label", {}, trials, None, None, (), ())


@pytest.mark.parametrize(
    ("synthetic", "known", "low", "high"),
    [
        (Synthetic(stop_after=0), "nothing", None, None),
        (Synthetic(highest=400), "above", 400, None),
        (Synthetic(start=3000, stop_after=1), "below", None, 3000),
        (Synthetic(stop_after=5), "bracketed", 800, 1600),
        (Synthetic(stop_after=1, invalid=(1,)), "nothing", None, None),
    ],
)
def test_what_an_unfinished_or_failed_search_knows(
    synthetic: Synthetic, known: str, low: float | None, high: float | None, tmp_path: Path
):
    (treatment,) = treatments(synthetic.write(tmp_path))
    assert treatment.searched is not None
    assert (treatment.searched.known, treatment.searched.low, treatment.searched.high) == (known, low, high)
    assert treatment.searched.result is None
    (row,) = summary.breaking_points([treatment])
    assert row.known == known and row.breaking_point is None


@pytest.mark.parametrize(("verdict", "load", "direction"), [("held", 770, "more"), ("not held", 630, "less")])
def test_a_contradiction_names_its_trials_and_the_direction(searched: Path, verdict: str, load: int, direction: str):
    run = open_run(searched)
    first, *_ = summary.treatments(run)
    fresh = [row for row in first.trials if row.phase == "confirm"]
    others = [row for row in run.trials if row not in fresh]
    turned = [row.model_copy(update={"verdict": verdict, "rate": float(load)}) for row in fresh * 3]
    contradicted, *_ = summary.treatments(replace(run, trials=(*others, *turned)))
    assert contradicted.searched is not None and contradicted.searched.confirmed is False
    (reason,) = [text for text in contradicted.warnings if "contradicted" in text]
    held = len(turned) if verdict == "held" else 0
    assert reason.startswith(f"contradicted by {len(turned)} fresh trials ({held} of {len(turned)} held at {load}/s)")
    assert f"times as likely if the system sustains 15% {direction} than estimated" in reason


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search whose machine was slow from the first trial after its confirmation began to the twelfth."""
    return Synthetic(slow=(16, 27, 0.65)).write(tmp_path_factory.mktemp("disturbed"))


def test_an_estimate_that_was_contradicted_is_judged_anew_and_both_are_stated(disturbed: Path):
    (treatment,) = treatments(disturbed)
    assert treatment.searched is not None and treatment.searched.result is not None
    assert treatment.searched.confirmed
    revised, episode = treatment.warnings
    assert revised.startswith("an earlier estimate was contradicted by 4 fresh trials (0 of 4 held at ")
    assert episode == (
        "in trials 16 to 27 the system sustained about 33 % less than usual (probability over 99 %): "
        "capacity and breaking point are of its usual state"
    )
    point = treatment.searched.result.breaking_point
    assert 0.95 * 1250 < point.value < 1.15 * 1250 and point.precision <= 0.05


def test_trials_of_an_unusual_time_are_a_column_of_the_table(disturbed: Path):
    (treatment,) = treatments(disturbed)
    (row,) = summary.breaking_points([treatment])
    assert row.episodes == "16-27: 0.67"
    assert treatment.searched is not None
    apart = [trial.order for trial in treatment.trials if treatment.searched.unusual(trial)]
    assert apart == list(range(16, 28))


@pytest.mark.parametrize(
    ("episode", "text"),
    [
        (Episode(3, 3, 0.9, 0.6), "in trial 3 the system sustained about 40 % less than usual"),
        (Episode(30, 41, 0.9, 1.333), "in trials 30 to 41 the system sustained about 33 % more than usual"),
    ],
)
def test_an_episode_in_words(episode: Episode, text: str):
    assert summary.episode_in_words(episode) == text


def test_each_search_is_judged_by_the_precision_that_a_factor_gave_it(searched: Path):
    run = open_run(searched)
    first, second = run.plan.treatments
    wide = first.model_copy(update={"varied": {"load.capacity.precision": "10%"}})
    plan = run.plan.model_copy(update={"treatments": (wide, second)})
    found = summary.treatments(replace(run, plan=plan))
    assert [treatment.precision for treatment in found] == [0.1, 0.05]
    assert [row.off_share for row in summary.breaking_points(found)] == [0.3, 0.15]


def test_fresh_trials_alone_confirm_nothing(searched: Path):
    run = open_run(searched)
    fresh = replace(run, trials=tuple(row for row in run.trials if row.phase == "confirm"))  # others are damaged
    for treatment in summary.treatments(fresh):
        assert treatment.searched is not None
        assert treatment.searched.confirmation is None


def test_doubts_about_a_search_are_warnings(tmp_path: Path):
    (treatment,) = treatments(Synthetic(stop_after=8).write(tmp_path))
    assert treatment.searched is not None and treatment.searched.confirmed is None
    assert any("not confirmed" in text for text in treatment.warnings)
    assert any("the interval is within" in text for text in treatment.warnings)


def test_a_planned_treatment_without_trials_is_there(tmp_path: Path):
    synthetic = Synthetic(capacities={"baseline": 700.0, "vertical": 900.0}, rates=[100], stop_after=1)
    first, second = treatments(synthetic.write(tmp_path))
    assert (first.label, second.label) == ("scaling=baseline", "scaling=vertical")
    assert len(second.trials) == 0
    assert second.warnings == ("no trial yet",)


def test_warnings_of_trials_are_counted_once(rated: Path):
    trials = open_run(rated).trials
    text = "the load generator shares its cores with the application"
    assert summary.trial_warnings(trials) == [summary.TrialWarning(text, 9, same=True)]


def test_warnings_that_differ_in_their_numbers_are_counted_as_one(rated: Path):
    trials = open_run(rated).trials
    found = [
        row.model_copy(update={"warnings": (f"{n}.5 s of 7.0 s were late", "a step of the clock")})
        for n, row in enumerate(trials)
    ]
    assert summary.trial_warnings(found) == [
        summary.TrialWarning("0.5 s of 7.0 s were late", 9, same=False),
        summary.TrialWarning("a step of the clock", 9, same=True),
    ]
