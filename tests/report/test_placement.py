"""The part of the page about placements: sentences, tables and figures; and nothing of what machines lack."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from loadstone.analysis.placement.tables import PlacementLoad
from loadstone.report import content, observability, page, placement
from loadstone.report.figures import placement as figures
from loadstone.report.figures import style
from loadstone.report.section import Section
from tests.placements import placed
from tests.report.reading import Page


def gathered(folder: Path) -> Section:
    found = placement.gather(observability.gather(content.gather(folder)).content)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = placed(tmp_path_factory.mktemp("results"), "rich", rates=[200, 700])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "KINDS", ())
        patch.setattr(page, "PARTS", dict.fromkeys(page.PARTS, ()))
        page.build(folder)
    yield folder


def test_the_best_and_the_worst_are_named_in_a_sentence(rich: Path) -> None:
    (text,) = gathered(rich).answers
    number = r"[\d.,]+(?: m?s)? \[[\d.,]+, [\d.,]+\]"
    assert re.fullmatch(
        rf"At 700 req/s \*\*FLC-D\*\* answered fastest of 3 placements, P99 {number}, and "
        rf"\*\*FLD-C\*\* slowest, {number}(: | ?; these trials show no difference \().*",
        text,
    ), text


def test_the_page_has_the_table_and_every_figure(rich: Path) -> None:
    text = (rich / "report" / "index.html").read_text(encoding="utf-8")
    parsed = Page(text)
    expected = " ".join(" ".join(parsed.texts).split())
    assert "answered fastest of 3 placements" in expected
    for name in ("latency", "executed", "cstates", "transitions", "power", "between"):
        assert f"figure-placement-{name}" in parsed.ids
        root = ElementTree.parse(rich / "report" / "figures" / f"placement-{name}.svg").getroot()
        shown = " ".join(root.itertext())
        assert all(split in shown for split in ("FLC-D", "FL-CD", "FLD-C")), name
    assert "figure-placement-capacity" not in parsed.ids, "nothing was searched"
    assert not re.findall(r"{\w+}", expected), "a caption leaves something open"
    with (rich / "report" / "tables" / "placement_loads.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["placement"], float(row["load"])) for row in rows] == [
        (name, load) for name in ("FLC-D", "FL-CD", "FLD-C") for load in (200.0, 700.0)
    ]


def test_what_machines_lack_is_neither_drawn_nor_a_column(tmp_path: Path) -> None:
    folder = placed(tmp_path, "poor", rates=[450], repetitions=1)
    section = gathered(folder)
    assert section.answers[0].endswith("; a single trial of each cannot show whether they differ.")
    assert section.shown["has"] == {"between_bytes_per_request"}
    known = observability.gather(content.gather(folder)).content
    everything = content.Content(**{**known.__dict__, "tables": known.tables | dict(section.tables)})
    with style.styled():
        drawn = {kind.name for kind in section.kinds if kind.draw(everything) is not None}
    assert drawn == {"placement-latency", "placement-executed", "placement-between"}


def test_capacities_have_a_dot_and_a_sentence_each(tmp_path: Path) -> None:
    folder = placed(tmp_path, rates=None, repetitions=1, capacities={"FLC-D": 1300.0, "FLD-C": 600.0})
    section = gathered(folder)
    (text,) = section.answers
    assert text.startswith("**FLC-D** has the highest capacity of 2 placements, ")
    assert "**FLD-C** the lowest" in text
    known = content.gather(folder)
    everything = content.Content(**{**known.__dict__, "tables": known.tables | dict(section.tables)})
    with style.styled():
        figure = figures.capacity(everything)
    assert figure is not None
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["FLD-C", "FLC-D"]


def test_of_many_placements_the_fastest_and_the_slowest_are_drawn() -> None:
    about: dict[str, Any] = {"others": "", "trials": 1, "held": 1, "load": 1.0}
    rows = [PlacementLoad(placement=f"p{n}", p99_ms=float(n * 7 % 20), **about) for n in range(20)]
    shown = figures.drawn(rows)
    assert len(shown) == figures.MOST
    p99 = {row.placement: row.p99_ms for row in rows}
    assert sorted(p99[name] for name in shown) == [0, 1, 2, 3, 4, 5, 14, 15, 16, 17, 18, 19]


def test_a_run_that_varies_something_else_has_no_such_part(rated: Path) -> None:
    assert placement.gather(content.gather(rated)) is None


def test_a_placement_that_answered_too_little_for_a_p99_is_among_the_slowest() -> None:
    about: dict[str, Any] = {"others": "", "trials": 1, "held": 1, "load": 1.0}
    rows = [PlacementLoad(placement=f"p{n}", p99_ms=None if n == 6 else float(n), **about) for n in range(20)]
    assert "p6" in figures.drawn(rows)
