"""The page's comparison: what it says at the top, its tables and figures, and when it has nothing to say."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from loadstone.analysis.comparison.tables import CapacityRow, EffectRow, NoiseRow, ShiftRow
from loadstone.analysis.schema import tables
from loadstone.report import comparison, content, page
from loadstone.report import comparison_sentences as sentences
from loadstone.report import sentences as report_words
from loadstone.report.figures import comparison as figures
from loadstone.report.figures import style
from loadstone.report.section import Section
from tests.synthetic import Synthetic
from tests.trial_rows import effect_row


def section(folder: Path) -> Section | None:
    return comparison.gather(content.gather(folder))


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Section:
    """Two treatments against a baseline that ran twice; one of them is slower, and both stand for delays."""
    synthetic = Synthetic(
        capacities={"baseline": 1250.0, "vertical": 1250.0, "horizontal": 1250.0},
        slower_ms={"vertical": 0.5},
        rates=[150],
        repetitions=8,
        comparison=True,
    )
    found = section(synthetic.write(tmp_path_factory.mktemp("results")))
    assert found is not None
    return found


def test_the_top_says_what_differs_and_what_the_noise_is(slower: Section) -> None:
    first, second, noise = slower.answers
    assert first.startswith("**scaling=vertical** against scaling=baseline at 150 req/s: P50 **1")
    assert "% longer** [+" in first
    assert "(8 pairs, p = 0.0" in first
    assert second.startswith("**scaling=horizontal** against scaling=baseline at 150 req/s: P50 ")
    assert "longer" not in second.split(";")[0]
    assert noise.startswith("A/A at 150 req/s: P50 ")
    assert slower.cautions == []


@pytest.mark.parametrize(
    ("verdict", "ratio", "size"),
    [("slower", 1.051, "5.1 % longer"), ("slower", 2.35, "2.35 times as long"), ("faster", 0.5, "50.0 % shorter")],
)
def test_a_latency_of_twice_the_baseline_s_is_not_twice_longer(verdict: str, ratio: float, size: str) -> None:
    assert sentences.longer(effect_row(verdict=verdict, ratio=ratio, needed=None)) == size


def test_tables_and_figures_are_of_what_there_is(slower: Section) -> None:
    assert set(slower.tables) == {"comparison", "comparison_noise"}
    assert [kind.name for kind in slower.kinds] == ["comparison_forest"]
    assert [group.title for group in slower.shown["groups"]] == [
        "scaling=vertical at 150 req/s: 8 pairs",
        "scaling=horizontal at 150 req/s: 8 pairs",
    ]
    assert {row.verdict for row in slower.shown["groups"][0].rows if row.statistic == "P50"} == {"slower"}


def test_captions_state_which_comparisons_are_drawn_and_what_each_marker_is() -> None:
    captions = {kind.name: kind.caption for kind in comparison._KINDS}
    assert all("{which}" in captions[name] for name in ("comparison_forest", "comparison_shifts"))
    assert {"filled", "hollow"} <= set(captions["comparison_forest"].split())
    assert "a filled square an equality" in captions["comparison_forest"]
    assert f"At most {figures._MOST_ROWS} endpoints" in captions["comparison_forest"]


@pytest.mark.parametrize("others", [["b"], ["b", "c"]])
def test_a_comparison_that_is_drawn_names_its_treatment(tmp_path: Path, others: list[str]) -> None:
    effects = [effect_row(treatment=name, needed=None, verdict="equal") for name in others]
    at: dict[str, Any] = {"baseline": "a", "load": 1.0, "clients": None}
    moved: dict[str, Any] = {"percentile": 50.0, "a_ms": 1.0, "b_ms": 2.0, "shift_ms": 1.0, "low_ms": 0.5, "high_ms": 2}
    shifts = [ShiftRow(**at, treatment=name, **moved) for name in others]
    gathered = content.gather(Synthetic(rates=[100], duration_s=0.5).write(tmp_path))
    gathered = replace(gathered, tables=tables((EffectRow, effects), (ShiftRow, shifts)))
    with style.styled():
        for draw in (figures.forest, figures.shifts):
            figure = draw(gathered)
            assert figure is not None
            titles = [axes.get_title(loc="left") for axes in figure.axes]
            assert titles == [f"{name}\nat 1 req/s" for name in others]


def test_loads_and_detected_differences_of_the_noise_are_sorted_as_numbers() -> None:
    noise: dict[str, Any] = {"sd_low": 0.0, "sd_high": 1.0, "detects": 0.031, "detects_low": 0.0, "detects_high": 1.0}
    effect = effect_row(load=1200.0, needed=None, verdict="cannot tell")
    row = NoiseRow(**vars(effect), **noise, from_second_runs=True)
    assert (comparison._line(row).at, comparison._line(row).least) == (1200.0, 0.031)
    unknown = comparison._line(replace(row, detects=inf))
    assert (unknown.least, unknown.detects) == (None, "–")


def test_breaking_points_are_compared_where_there_was_a_search(searched: Path) -> None:
    found = section(searched)
    assert found is not None
    assert set(found.tables) == {"comparison_capacities"}
    [answer] = found.answers
    assert answer.startswith("Half of the trials hold at **") and "with **scaling=vertical**, at " in answer
    assert " with scaling=baseline (their breaking points): **" in answer
    assert answer.endswith("].")


@pytest.mark.usefixtures("plain")
def test_an_interval_of_a_ratio_does_not_stand_under_percent(tmp_path: Path) -> None:
    synthetic = Synthetic(
        capacities={"baseline": 1250.0, "vertical": 1250.0},
        slower_ms={"vertical": 50.0},
        rates=[150],
        repetitions=7,
        comparison=True,
    )
    text = page.build(synthetic.write(tmp_path)).read_text()
    assert re.search(r'>\d+\.\d\dx</td><td class="n">\[\d+\.\d\d, \d+\.\d\d\]</td>', text)
    assert "interval<br>(%)" not in text


def test_one_treatment_has_nothing_to_be_compared_with(rated: Path) -> None:
    assert section(rated) is None


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"verdict": "slower", "needed": None}, "slower"),
        ({"verdict": "equal", "needed": None}, "equal within 2 %"),
        ({"verdict": "cannot tell", "needed": 1, "method": "paired"}, "cannot tell; about 1 more pair would"),
        (
            {"verdict": "cannot tell", "needed": 12, "method": "unpaired"},
            "cannot tell; about 12 more runs of each would",
        ),
        ({"verdict": "cannot tell", "needed": None}, "cannot tell"),
    ],
)
def test_verdicts_in_words(row: dict[str, Any], text: str) -> None:
    assert sentences.verdict(effect_row(**row)) == text


@pytest.mark.parametrize(("ratio", "text"), [(1.0512, "+5.1 %"), (0.9, "-10.0 %"), (3.5, "3.50x"), (None, "–")])
def test_changes_in_words(ratio: float | None, text: str) -> None:
    assert sentences.change(ratio) == text


def test_what_is_doubtful_about_a_search_is_reported_once(tmp_path: Path) -> None:
    two = {"baseline": 700.0, "vertical": 1250.0}
    gathered = content.gather(Synthetic(capacities=two, stop_before=("vertical", "confirm")).write(tmp_path))
    found = comparison.gather(gathered)
    assert found is not None
    assert any(text.startswith("scaling=vertical: not confirmed") for text in report_words.warnings(gathered))
    assert not [text for text in found.cautions if "not confirmed" in text]


@pytest.mark.parametrize(
    ("ratio", "low", "high", "shown"),
    [(0.0047, 0.003, 0.0071, "**0.00470x** [0.00300, 0.00710]"), (1.561, 1.4, 1.702, "**1.56x** [1.40, 1.70]")],
)
def test_a_breaking_point_that_is_a_small_part_of_the_baselines_is_not_none_of_it(
    ratio: float, low: float, high: float, shown: str
) -> None:
    points = {"a": 949.0, "a_low": 907.0, "a_high": 995.0, "b": 949 * ratio, "b_low": 949 * low, "b_high": 949 * high}
    row = CapacityRow(baseline="a", treatment="b", ratio=ratio, low=low, high=high, margin=0.02, verdict="", **points)
    assert sentences.capacity(row).endswith(f"{shown}.")
