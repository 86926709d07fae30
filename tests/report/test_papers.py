"""The parts of a page that belong to a reproduced study: its comparison by best-fit runs, and its published numbers."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loadstone.model import papers
from loadstone.report import content, format, page, published, reproduction
from tests.distributions import write_hlog, write_spans
from tests.report.reading import Page
from tests.synthetic import Synthetic

SCALE = {"bare": 1.0, "container": 1.1}
SPANS = {
    span: (row.value or 0, tuple(span.split(" ", 1)))
    for row in papers.values("vinken2022")
    if row.measure == "p50" and row.levels == {"environment": "bare"} and (span := row.span)
}
"""Published median in us, service and operation."""


def reproduces(folder: Path, name: str) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    plan["study"]["reproduces"] = name
    (folder / "plan.json").write_text(json.dumps(plan))


@pytest.fixture(scope="module")
def vinken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half of the fifth study, made up about its published medians, with its report."""
    capacities = dict.fromkeys(SCALE, 2000.0)
    made = Synthetic(name="vinken", factor="environment", capacities=capacities, rates=[20], repetitions=4)
    folder = made.write(tmp_path_factory.mktemp("results"))
    for number, place in enumerate(sorted((folder / "trials").iterdir())):
        row = json.loads((place / "trial.json").read_text())["row"]
        random = np.random.default_rng(number)
        scale = SCALE[row["factor_environment"]] * random.normal(1, 0.005)
        spans = {name: median * scale * random.lognormal(0, 0.1, 40) for median, name in SPANS.values()}
        write_spans(place / "spans.parquet", spans)  # type: ignore[arg-type]
        write_hlog(place / "latency.hlog", {"intended": 30_000 * scale * random.lognormal(0, 0.1, 100)})
    reproduces(folder, "vinken2022")
    page.build(folder)
    return folder


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "report" / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def parsed(folder: Path) -> Page:
    return Page((folder / "report" / "index.html").read_text(encoding="utf-8"))


def words(folder: Path, section: str) -> str:
    text = (folder / "report" / "index.html").read_text(encoding="utf-8")
    found = re.search(rf'<section id="{section}">(.*?)</section>', text, re.DOTALL)
    assert found
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())


def test_the_table_of_best_fit_runs_has_the_published_columns(vinken: Path) -> None:
    written, shown = table(vinken, "reproduction"), parsed(vinken).rows("reproduction")
    assert len(shown) == len(written) == 2 * (1 + len(SPANS) + 1)
    for row, data in zip(shown, written, strict=True):
        assert row["Span"] == data["span"]
        assert row["Best-fit run"] == f"{data['repetition']} of 4"
        for percentile in (50, 75, 90, 95, 99, 100):
            assert row[f"P{percentile} us"] == format.number(float(data[f"p{percentile}_us"]))
        assert row["AD"] == f"{float(data['ad_statistic']):.2f}"
        assert row["KS"] == f"{float(data['ks_statistic']):.4f}"
    assert shown[0]["Span"] == "all requests"
    assert shown[0]["KS"] == "0.0000"


def test_what_the_method_is_worth_stands_before_its_numbers(vinken: Path) -> None:
    text = words(vinken, "reproduction")
    assert "This is a reproduction, not a test." in text
    assert text.index("in 72 of 100 cases with 5 runs, in 52 with 10") < text.index("P50 us")


def test_published_percentiles_stand_beside_those_of_the_spans(vinken: Path) -> None:
    here = [row for row in table(vinken, "published") if not row["why"]]
    assert {row["span"] for row in here} == set(SPANS)
    assert {row["setting"] for row in here} == {"bare", "container"}
    medians = [row for row in here if row["measure"] == "p50" and row["setting"] == "bare"]
    assert [float(row["ratio"]) for row in medians] == [pytest.approx(1, abs=0.06)] * len(SPANS)
    text = words(vinken, "published")
    assert "not in this run: environment vm-container" in text
    assert f"Not in this run: {len(table(vinken, 'published')) - len(here)} published values" in text


def test_the_figures_are_drawn_and_the_numbers_stand_at_the_top(vinken: Path) -> None:
    for name in ("reproduction-percentiles", "published-percentiles", "published-values"):
        drawn = name != "published-values"  # every value of this paper that is here is of a span
        assert (vinken / "report" / "figures" / f"{name}.svg").exists() == drawn
    text = (vinken / "report" / "index.html").read_text(encoding="utf-8")
    here = sum(not row["why"] for row in table(vinken, "published"))
    assert f"Vinken, Amsterdam 2022: <strong>{here}</strong> of 344 published values were measured" in text


def test_a_study_that_reproduces_nothing_has_neither_part(rated: Path) -> None:
    gathered = content.gather(rated)
    assert published.gather(gathered) is None
    assert reproduction.gather(gathered) is None


@pytest.fixture
def breaking(tmp_path: Path) -> Path:
    capacities = {"swarm": 900.0, "nomad": 700.0}
    made = Synthetic(factor="orchestrator", capacities=capacities, rates=[300, 3000], duration_s=1)
    folder = made.write(tmp_path)
    reproduces(folder, "vanderputten2024")
    return folder


def test_ranges_beside_ranges(breaking: Path) -> None:
    found = published.gather(content.gather(breaking))
    assert found is not None
    shown: list[dict[str, Any]] = found.shown["rows"]
    assert [(row["setting"].split(", ")[1], row["theirs"], row["ours"], row["times"]) for row in shown] == [
        ("swarm", "2,000 to 2,500 req/s", "300 to 3,000 req/s", "0.120 to 1.50"),
        ("nomad", "2,000 to 3,000 req/s", "300 to 3,000 req/s", "0.100 to 1.50"),
    ]
    (answer,) = found.answers
    assert answer.startswith("van der Putten, Leiden 2024: **2** of 57 published values were measured")
    assert answer.endswith("under their settings here, at **0.100** to **1.50** times them.")
    assert reproduction.gather(content.gather(breaking)) is None


def test_a_paper_that_this_version_does_not_know_is_a_caution(breaking: Path) -> None:
    reproduces(breaking, "someone2031")
    found = published.gather(content.gather(breaking))
    assert found is not None
    assert found.cautions == [
        "this version of Loadstone has no published values of 'someone2031', which the study says it reproduces"
    ]
    assert reproduction.gather(content.gather(breaking)) is None


@pytest.mark.parametrize(
    ("low", "high", "text"), [(2, 3, "2 to 3"), (None, 500, "below 500"), (20000, None, "above 20,000")]
)
def test_ranges_in_words(low: float | None, high: float | None, text: str) -> None:
    assert published.between(low, high) == text
