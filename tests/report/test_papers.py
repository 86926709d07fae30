"""The parts of a page that belong to a reproduced study: its comparison by best-fit runs, and its published numbers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest

from loadstone.model import papers
from loadstone.report import content, format, published, rendering, reproduction
from loadstone.report.content import Content
from loadstone.report.section import Section
from tests import shop_spans
from tests.distributions import write_hlog, write_spans
from tests.report.reading import Page
from tests.synthetic import Synthetic

SCALE = {"bare": 1.0, "container": 1.1}
PUBLISHED = {
    row.span: row.value or 0
    for row in papers.values("vinken2022")
    if row.measure == "p50" and row.levels == {"environment": "bare"} and row.span
}
"""Published median in us by span."""
SLEEP_US = 36.0
"""The median of SleepTask at no delay, in the trace that the study shows; no table has it."""
SPANS = {
    f"{service} {operation}": (PUBLISHED.get(f"{service} {operation}", SLEEP_US), (service, operation))
    for service, operation in shop_spans.made()
}
"""Median in us, service and operation of each span that the services make."""


def reproduces(folder: Path, name: str | None, profile: str = "default", **settings: Any) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    plan["study"] |= {"reproduces": name, **settings}
    for treatment in plan["treatments"]:
        treatment["settings"]["profile"] = profile
    (folder / "plan.json").write_text(json.dumps(plan))


@pytest.fixture(scope="module")
def vinken(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Half of the fifth study, made up about its published medians."""
    capacities = dict.fromkeys(SCALE, 2000.0)
    made = Synthetic(
        name="vinken", factor="environment", capacities=capacities, rates=[20], repetitions=4, duration_s=1
    )
    folder = made.write(tmp_path_factory.mktemp("results"))
    for number, place in enumerate(sorted((folder / "trials").iterdir())):
        row = json.loads((place / "trial.json").read_text())["row"]
        random = np.random.default_rng(number)
        scale = SCALE[row["factor_environment"]] * random.normal(1, 0.005)
        spans = {name: median * scale * random.lognormal(0, 0.1, 40) for median, name in SPANS.values()}
        write_spans(place / "spans.parquet", spans)  # type: ignore[arg-type]
        write_hlog(place / "latency.hlog", {"intended": 30_000 * scale * random.lognormal(0, 0.1, 100)})
    reproduces(folder, "vinken2022")
    return content.gather(folder)


@pytest.fixture(scope="module")
def fitted(vinken: Content) -> Section:
    found = reproduction.gather(vinken)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def laid(vinken: Content) -> Section:
    found = published.gather(vinken)
    assert found is not None
    return found


def html(section: Section) -> str:
    """The part of the page, without its figures."""
    values = {"section": section, "shown": section.shown, "drawn": [], "several": True}
    inside = rendering.render(f"{section.name}.html.j2", {name: [".csv"] for name in section.tables}, values)
    return f'<section id="{section.name}">{inside}</section>'


def page_text(section: Section) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html(section)).split())


def test_the_table_of_best_fit_runs_has_the_published_columns(fitted: Section) -> None:
    written, shown = fitted.tables["reproduction"].to_pylist(), Page(html(fitted)).rows("reproduction")
    assert len(shown) == len(written) == 2 * (1 + len(SPANS) + 1)
    for row, data in zip(shown, written, strict=True):
        assert row["Span"] == data["span"]
        assert row["Best-fit run"] == f"{data['repetition']} of 4"
        for percentile in (50, 75, 90, 95, 99, 100):
            assert row[f"P{percentile} us"] == format.number(data[f"p{percentile}_us"])
        assert row["AD"] == f"{data['ad_statistic']:.2f}"
        assert row["KS"] == f"{data['ks_statistic']:.4f}"
    assert shown[0]["Span"] == "all requests"
    assert shown[0]["KS"] == "0.0000"


def test_what_the_method_is_worth_stands_before_its_numbers(fitted: Section) -> None:
    text = page_text(fitted)
    assert "This is a reproduction, not a test." in text
    assert text.index("in 72 of 100 cases with 5 runs, in 52 with 10") < text.index("P50 us")


def test_published_percentiles_stand_beside_those_of_the_spans(laid: Section) -> None:
    rows = laid.tables["published"].to_pylist()
    here = [row for row in rows if not row["why"]]
    assert {row["span"] for row in here} == set(PUBLISHED) < set(SPANS)
    assert len(here) == len(PUBLISHED) * 2 * 8, "each percentile, AD and KS in both environments"
    assert {row["setting"] for row in here} == {"bare", "container"}
    medians = [row for row in here if row["measure"] == "p50" and row["setting"] == "bare"]
    assert [row["ratio"] for row in medians] == [pytest.approx(1, abs=0.06)] * len(PUBLISHED)
    text = page_text(laid)
    assert "not in this run: environment vm-container" in text
    assert f"Not in this run: {len(rows) - len(here)} published values" in text
    (answer,) = laid.answers
    assert answer.startswith(f"Vinken, Amsterdam 2022: **{len(here)}** of 344 published values were measured")


def test_the_figures_that_there_is_data_for_are_drawn(vinken: Content, fitted: Section, laid: Section) -> None:
    """Every value of this paper that is here is of a span, so none is left for the figure of values."""
    panels = {}
    for section in (fitted, laid):
        shown = replace(vinken, tables=vinken.tables | dict(section.tables))
        for kind in section.kinds:
            figure = kind.draw(shown)
            panels[kind.name] = None if figure is None else [axes.get_title() for axes in figure.axes]
    assert panels == {
        "reproduction-percentiles": ANY,
        "published-values": None,
        "published-percentiles": ANY,
    }
    assert panels["reproduction-percentiles"][:1] == ["all requests"]  # type: ignore[index]
    assert sorted(panels["published-percentiles"])[:3] == [  # type: ignore[arg-type]
        "LargeFileTask.read",
        "LargeFileTask.write",
        "LinpackBenchmark1",
    ]


def test_a_study_that_reproduces_nothing_has_neither_part(breaking: Path) -> None:
    reproduces(breaking, None)
    gathered = content.gather(breaking)
    assert published.gather(gathered) is None
    assert reproduction.gather(gathered) is None


@pytest.fixture
def breaking(tmp_path: Path) -> Path:
    capacities = {"swarm": 900.0, "nomad": 700.0}
    made = Synthetic(factor="orchestrator", capacities=capacities, rates=[300, 3000], duration_s=1)
    folder = made.write(tmp_path)
    reproduces(folder, "vanderputten2024", profile="paper")
    return folder


def test_ranges_beside_ranges(breaking: Path) -> None:
    found = published.gather(content.gather(breaking))
    assert found is not None
    lines = found.shown["rows"]
    assert [(line.row.setting.split(", ")[4], line.theirs, line.ours, line.times) for line in lines] == [
        ("swarm", "2,000 to 2,500 req/s", "300 to 3,000 req/s", "0.120 to 1.50"),
        ("nomad", "2,000 to 3,000 req/s", "300 to 3,000 req/s", "0.100 to 1.50"),
    ]
    (answer,) = found.answers
    assert answer.startswith("van der Putten, Leiden 2024: **2** of 68 published values were measured")
    assert answer.endswith("under their settings here, at **0.100** to **1.50** times them.")
    assert reproduction.gather(content.gather(breaking)) is None
    shown = Page(html(found)).rows("published")
    assert [row["This run"] for row in shown] == ["300 to 3,000 req/s"] * 2
    figure = found.kinds[0].draw(replace(content.gather(breaking), tables=dict(found.tables)))
    assert figure is not None
    assert len(figure.axes[0].get_yticks()) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"profile": "default"},
        {"resources": {"geo": {"cpu": 0.04}}},
        {"load": {"slo": {"p99": "500ms"}, "rates": [300]}},
    ],
)
def test_other_limits_and_objectives_are_not_laid_beside_published_breaking_points(
    breaking: Path, other: dict[str, Any]
) -> None:
    reproduces(breaking, "vanderputten2024", **({"profile": "paper"} | other))
    found = published.gather(content.gather(breaking))
    assert found is not None
    assert found.shown["rows"] == []


def test_a_paper_that_this_version_does_not_know_is_a_caution(breaking: Path) -> None:
    reproduces(breaking, "someone2031")
    found = published.gather(content.gather(breaking))
    assert found is not None
    assert "this version of Loadstone does not contain its values" in page_text(found)
    assert found.cautions == [
        "this version of Loadstone has no published values of 'someone2031', which this study reproduces"
    ]
    assert reproduction.gather(content.gather(breaking)) is None


@pytest.mark.parametrize(
    ("low", "high", "text"), [(2, 3, "2 to 3"), (None, 500, "below 500"), (20000, None, "above 20,000")]
)
def test_ranges_in_words(low: float | None, high: float | None, text: str) -> None:
    assert published.between(low, high) == text
