"""Long names of treatments leave a figure its room, and stay distinct."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from loadstone.report import comparison as comparison_section
from loadstone.report import content as contents
from loadstone.report.figures import bars, comparison, load, look, spectrum, style
from loadstone.report.figures.shortening import FEWEST, distinct
from tests.report.labels import drawn, faults
from tests.synthetic import Synthetic

IMAGE = "registry.example.org/a-team/with-long-paths/of-images/that-nobody-shortens/" * 2
NAMES = [f"{IMAGE}hotel-frontend-{kind}-and-a-suffix-that-all-of-them-have-in-common" for kind in ("old", "new")]


def test_what_is_common_goes_first() -> None:
    assert distinct(["short", "texts"], 10) == ["short", "texts"]
    assert distinct(NAMES, 20) == ["…ontend-old-and-a-s…", "…ontend-new-and-a-s…"]
    assert distinct([NAMES[0]], 20) == ["registry.e…in-common"]
    assert distinct(["a" * 30 + "b", "a" * 30 + "c"], 10) == ["…" + "a" * 8 + end for end in "bc"]


def test_parts_are_shortened_beside_those_in_their_place() -> None:
    names = [f"{name} · {scaling}" for name in NAMES for scaling in ("baseline", "vertical")]
    assert distinct(names, 30) == [
        "…ontend-old-and-a-… · baseline",
        "…ontend-old-and-a-… · vertical",
        "…ontend-new-and-a-… · baseline",
        "…ontend-new-and-a-… · vertical",
    ]


@given(st.lists(st.text("ab ·,\n", max_size=40), min_size=1, max_size=8), st.integers(FEWEST, 30))
def test_equal_texts_stay_equal_and_others_different(texts: list[str], most: int) -> None:
    short = distinct(texts, most)
    assert [short.index(text) for text in short] == [texts.index(text) for text in texts]
    assert all(len(text) <= most + len(" (8)") for text in short)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> contents.Content:
    made = Synthetic(dict(zip(NAMES, (1250.0, 900.0), strict=True)), "workload", rates=[400, 800], repetitions=6)
    return contents.gather(made.write(tmp_path_factory.mktemp("crowded")))


@pytest.mark.parametrize("chosen", [look.USUAL, look.chosen("3.33in", None)], ids=["page", "column"])
@pytest.mark.parametrize("draw", [bars.at_loads, load.latency, spectrum.spectrum])
def test_long_names_leave_a_figure_its_room(
    crowded: contents.Content, draw: Callable[[contents.Content], Figure | None], chosen: look.Look
) -> None:
    with style.styled(chosen):
        figure = draw(crowded)
        assert figure is not None
        style.settle(figure)
        assert faults(figure) == []
        sizes = [axes.get_window_extent() for axes in figure.axes]
        assert min(min(box.width, box.height) for box in sizes) > 60, "points"
        texts = {text.get_text().replace("\n", " ") for text in drawn(figure)}
        assert any("new-" in text for text in texts)


@pytest.mark.parametrize("chosen", [look.USUAL, look.chosen("3.33in", None)], ids=["page", "column"])
def test_the_only_compared_treatment_is_shortened_beside_its_baseline(tmp_path: Path, chosen: look.Look) -> None:
    made = Synthetic(dict(zip(NAMES, (1250.0, 900.0), strict=True)), "workload", duration_s=1.0)
    found = contents.gather(made.write(tmp_path))
    section = comparison_section.gather(found)
    assert section is not None
    with style.styled(chosen):
        figure = comparison.capacities(replace(found, tables=found.tables | dict(section.tables)))
        assert figure is not None
        style.settle(figure)
        [axes] = figure.axes
        [name] = [label.get_text() for label in axes.get_yticklabels()]
        assert "new" in name and "old" in axes.get_xlabel()
        assert faults(figure) == []
