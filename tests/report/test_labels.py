"""No label lies on another or is cut, with 12 treatments x 10 loads x 5 repetitions, on the page and in a column."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from loadstone.analysis.run import open_run
from loadstone.model.errors import InputError
from loadstone.report import content as contents
from loadstone.report import page, sections
from loadstone.report.content import Content
from loadstone.report.figures import look, style
from loadstone.report.figures.kinds import Kind
from tests.report.labels import faults
from tests.synthetic import Synthetic

RATES = [100.0 * step for step in range(1, 11)]
LONG = [f"a treatment with a long name, number {number}" for number in range(1, 13)]
CROSSED = [
    f"{o}/{s}" for o in ("swarm", "kubernetes", "nomad") for s in ("baseline", "vertical", "horizontal", "unlimited")
]


@pytest.fixture(scope="module", params=["workload", "orchestrator/scaling"])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Content:
    names = LONG if request.param == "workload" else CROSSED
    capacities = {name: 100.0 + 50 * place for place, name in enumerate(names)}
    made = Synthetic(capacities, request.param, rates=RATES, repetitions=5, duration_s=0.5, timeout_s=26)
    return contents.gather(made.write(tmp_path_factory.mktemp("many")))


def drawn(content: Content, chosen: look.Look) -> dict[str, Figure]:
    """All figures of the report, laid out, by name."""
    found = {}
    added, problems = sections.gather(content)
    assert problems == []
    known = Content(**{**vars(content), "tables": content.tables | {n: t for s in added for n, t in s.tables.items()}})
    kinds: list[Kind] = [*page.KINDS, *(kind for section in added for kind in section.kinds)]
    with style.styled(chosen):
        for kind in kinds:
            figure = kind.draw(known)
            if figure is not None:
                style.settle(figure)
                found[kind.name] = figure
    return found


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [look.USUAL, look.chosen("3.33in", "DejaVu Serif")], ids=["page", "column"])
def test_no_label_is_cut_or_on_another(many: Content, chosen: look.Look) -> None:
    assert len(open_run(many.run.folder).trials) == 12 * 10 * 5
    figures = drawn(many, chosen)
    assert figures.keys() >= {"latency", "latency-close", "mean-latency", "throughput", "unfinished", "spectrum"}
    assert {name: found for name, figure in figures.items() if (found := faults(figure))} == {}


def test_labels_that_are_cut_or_on_each_other_are_found() -> None:
    figure = Figure(figsize=(2, 2))
    axes = figure.subplots()
    axes.set_title("a title that is much longer than its figure is wide")
    axes.annotate("first", (0.5, 0.5))
    axes.annotate("second", (0.51, 0.5))
    found = faults(figure)
    assert "'first' on 'second'" in found
    assert "'a title that is much longer than its figure is wide' is cut" in found


@pytest.mark.parametrize(
    ("width", "font", "problem"),
    [("3.33", None, "has no unit"), ("1in", None, "out of range"), (None, "No Such Font", "no such font")],
)
def test_a_look_that_there_is_not_is_refused(width: str | None, font: str | None, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        look.chosen(width, font)


def test_figures_of_a_column_are_as_wide_as_it_and_in_the_font(tmp_path: Path) -> None:
    folder = Synthetic(rates=[100, 200], repetitions=2, duration_s=0.5).write(tmp_path)
    text = page.build(folder, look.chosen("84mm", "DejaVu Serif")).read_text(encoding="utf-8")
    svg = (folder / "report" / "figures" / "latency.svg").read_text(encoding="utf-8")
    assert 'width="238.1' in svg and "'DejaVu Serif'" in svg
    assert "font-family: 'DejaVu Serif'" in text
