"""The report's part of chosen spans, and that of nodes over time: which panels are drawn, what they show."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from loadstone.analysis.reproduction.levels import amount
from loadstone.report import content as contents
from loadstone.report import distributions, observability, rendering, system
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.section import Section
from tests.distributions import write_spans
from tests.observed import observe
from tests.synthetic import Synthetic

DELAYS = ["0us", "50us", "200us"]
SPAN = "payment POST /payment"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Three delays, six runs of each, all nodes recorded."""
    made = Synthetic(
        name="accuracy",
        factor="tasks",
        capacities=dict.fromkeys(DELAYS, 2000.0),
        levels={name: {"payment": {"sleep": name}} for name in DELAYS},
        rates=[20],
        repetitions=6,
        duration_s=1,
    )
    folder = made.write(tmp_path_factory.mktemp("results"))
    observe(folder)
    for number, place in enumerate(sorted((folder / "trials").iterdir())):
        row = json.loads((place / "trial.json").read_text())["row"]
        delay = (amount(row["factor_tasks"]) or (0.0, ""))[0]
        values = 1000 + delay + np.random.default_rng(number).normal(0, 60, 200)
        window = json.loads((place / "observed.json").read_text())["window"]
        write_spans(place / "spans.parquet", {("payment", "POST /payment"): values}, window["from_ns"])
    plan = json.loads((folder / "plan.json").read_text())
    plan["study"]["report"] = {"spans": [SPAN, "payment POST /paymant"]}
    (folder / "plan.json").write_text(json.dumps(plan))
    return observability.gather(contents.gather(folder)).content


@pytest.fixture(scope="module")
def section(content: Content) -> Section:
    found = distributions.gather(content)
    assert found is not None
    return found


def draw(content: Content, section: Section, name: str) -> Figure:
    shown = replace(content, tables=content.tables | dict(section.tables))
    (kind,) = (kind for kind in section.kinds if kind.name == name)
    with style.styled():
        figure = kind.draw(shown)
    assert figure is not None
    return figure


def page_text(section: Section) -> str:
    values = {"section": section, "shown": section.shown, "drawn": [], "several": True}
    return rendering.render(f"{section.name}.html.j2", {name: [".csv"] for name in section.tables}, values)


def test_at_most_five_runs_of_the_baseline_and_of_each_other_treatment(content: Content, section: Section) -> None:
    figure = draw(content, section, "distribution-runs")
    assert [len(axes.lines) for axes in figure.axes] == [10, 10]
    assert [axes.get_title(loc="left").replace("\n", " ").rpartition(": ")[2] for axes in figure.axes] == [
        "payment:sleep=0.05ms",
        "payment:sleep=0.2ms",
    ]
    assert section.facts["panels"] == "" and section.facts["runs"] == "5"


def test_histograms_and_ranges_show_each_treatment(content: Content, section: Section) -> None:
    assert len(draw(content, section, "distribution-histograms").axes) == 2
    ranges = draw(content, section, "distribution-ranges")
    assert [len(axes.get_yticks()) for axes in ranges.axes] == [3, 3]


def test_four_panels_of_the_levels_in_their_unit_with_a_line_at_one_percent(content: Content, section: Section) -> None:
    figure = draw(content, section, "distribution-levels")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "AD p-value",
        "KS p-value",
        "AD statistic",
        "KS statistic",
    ]
    for place, axes in enumerate(figure.axes):
        (line, *others) = axes.lines
        assert list(line.get_xdata()) == [0, 50, 200]  # type: ignore[arg-type]
        assert [list(other.get_ydata()) for other in others] == ([[0.01, 0.01]] if place < 2 else [])  # type: ignore[arg-type]
    assert {axes.get_xlabel() for axes in figure.axes} == {"tasks (us)"}


def test_a_name_that_no_span_has_is_a_caution(section: Section) -> None:
    assert section.cautions == [
        f"report.spans: no run at a fixed load has 'payment POST /paymant'; did you mean '{SPAN}'?"
    ]
    assert f'<span class="mono">{SPAN}</span>' in page_text(section)


def test_nodes_over_time_have_a_table_and_the_errors_of_their_clocks(content: Content) -> None:
    section = system.gather(content)
    assert section is not None
    text = page_text(section)
    assert "the values of trials shorter than a minute (1 s)" in text
    assert text.count('<td class="name">worker-1</td>') == 3 and "client" not in text
    assert {"system", "metrics_clocks"} <= set(section.tables), "figures of a section are drawn from its own tables"
    figure = draw(content, section, "clock-errors")
    assert [text.get_text() for text in figure.legends[0].texts] == ["client", "worker-1", "worker-2"]
