"""The page's part of the capacity model."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.analysis import capacity, summary
from loadstone.analysis.capacity.registered import register
from loadstone.report import content as contents
from loadstone.report import format, model
from loadstone.report.figures import style
from tests.analysis.capacity.made import model_of
from tests.synthetic import Synthetic


def predicted(
    folder: Path, times: float, time: str = "2026-01-01T00:00:00+00:00", stop: int | None = None, drift: float = 0.0
) -> Path:
    """A search of two treatments, the second with a prediction that is ``times`` the first's."""
    capacities = {"baseline": 700.0, "vertical": 1250.0}
    run = Synthetic(name="predicted", capacities=capacities, stop_after=stop, drift=drift).write(folder)
    content = contents.gather(run)
    baseline, vertical = content.treatments
    fitted = capacity.fit(content.run, baseline)
    found = capacity.predict(fitted, fitted.layout)
    found = replace(found, value=found.value * times, low=found.low * times, high=found.high * times)
    (run / "predictions").mkdir()
    kept = register(fitted, found, vertical.id, vertical.label, time, "0.1.0")
    (run / "predictions" / f"{vertical.id}.json").write_text(json.dumps(kept))
    return run


@pytest.mark.slow
def test_a_hit_and_a_miss_are_reported_with_their_numbers(tmp_path: Path):
    for times, outcome in ((1.78, "hit"), (1.2, "miss")):
        section = model.gather(contents.gather(predicted(tmp_path / outcome, times)))
        assert section is not None and section.cautions == []
        (row,) = section.tables["predictions"].to_pylist()
        assert row["outcome"] == outcome and row["before"] is True
        (answer,) = section.answers
        assert answer.startswith("scaling=vertical: predicted **") and answer.endswith(f"a {outcome}.")
        assert f"{format.percent(abs(row['error']))} too {'high' if row['error'] > 0 else 'low'}" in answer


@pytest.mark.parametrize(("drift", "pace"), [(0.0, ""), (0.4, "slower"), (-0.4, "faster")])
def test_a_machine_that_changed_since_the_base_is_mentioned_and_corrects_nothing(
    drift: float, pace: str, tmp_path: Path
):
    section = model.gather(contents.gather(predicted(tmp_path, 1.78, drift=drift)))
    assert section is not None
    (row,) = section.tables["predictions"].to_pylist()
    assert (row["slower"] > 0.05, row["slower"] < -0.05) == (pace == "slower", pace == "faster")
    assert row["error"] == row["predicted"] / row["measured"] - 1
    assert row["corrected"] == pytest.approx((row["error"] + 1) / (1 + row["slower"]) - 1)
    (answer,) = section.answers
    assert answer.endswith(f" {pace} than for its base." if pace else "a hit.")


def test_a_prediction_that_came_too_late_is_no_answer_but_a_caution(tmp_path: Path):
    section = model.gather(contents.gather(predicted(tmp_path, 1.78, time="2026-03-01T00:00:00+00:00")))
    assert section is not None and section.answers == []
    assert section.cautions == ["scaling=vertical was measured before its prediction was registered"]


def test_a_bracket_is_no_measurement(tmp_path: Path):
    whole = contents.gather(predicted(tmp_path / "whole", 1.0)).treatments
    run = predicted(tmp_path, 1.78, stop=len(whole[0].trials) + 5)
    section = model.gather(contents.gather(run))
    assert section is not None and section.answers == []
    (row,) = section.tables["predictions"].to_pylist()
    assert (row["outcome"], row["measured"], row["before"]) == ("not measured", None, True)


def test_a_damaged_prediction_is_named_and_the_rest_shown(tmp_path: Path):
    run = predicted(tmp_path, 1.78)
    (run / "predictions" / "x.json").write_text('{"model": 1')
    section = model.gather(contents.gather(run))
    assert section is not None and len(section.answers) == 1
    assert section.cautions[0].startswith("predictions/x.json cannot be read")


def test_demands_are_of_the_base_and_every_figure_is_drawn(tmp_path: Path):
    content = contents.gather(predicted(tmp_path, 1.78))
    section = model.gather(content)
    assert section is not None
    demands = section.tables["demands"].to_pylist()
    assert {row["treatment"] for row in demands} == {"scaling=baseline"}
    assert [row["cores"] for row in demands] == sorted((row["cores"] for row in demands), reverse=True)
    assert all(row["cpu_ms_low"] <= row["cpu_ms"] <= row["cpu_ms_high"] for row in demands)
    whole = replace(content, tables=content.tables | dict(section.tables))
    with style.styled():
        assert all(kind.draw(whole) is not None for kind in section.kinds)


def test_fixed_rates_have_no_such_part(tmp_path: Path):
    run = Synthetic(name="rated", rates=[200, 500]).write(tmp_path)
    assert model.gather(contents.gather(run)) is None


def test_a_search_without_counters_is_not_predicted(tmp_path: Path):
    run = Synthetic(name="bare").write(tmp_path)
    for file in (run / "trials").glob("*/usage.json"):
        file.unlink()
    content = contents.gather(run)
    assert [treatment.searched is not None for treatment in summary.treatments(content.run)] == [True]
    assert model.gather(content) is None


def test_a_model_that_contradicts_what_was_observed_says_so_and_shows_no_share(tmp_path: Path):
    """Nothing is known of the objective, so twice the limit is predicted; no more than the limit was seen."""
    fitted = replace(model_of(tmp_path, {"front": (0.001, 0.1)}, 200.0), pressed=None, utilisation=2.0)
    text = model._model_sentence(fitted)
    assert "The model does not describe it at that load" in text and "but it used" in text
    (row,) = model._demands(fitted)
    assert (row.cores, row.share) == (None, None)
    assert not re.search(r"bounded by|other layouts are assumed", text)
