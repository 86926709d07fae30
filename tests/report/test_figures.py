"""Figures: they parse, they are the same every time, and they show what the tables say."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from loadstone.analysis.latency import LoadPoint
from loadstone.report import page
from loadstone.report.content import gather
from loadstone.report.figures import bars, load, names, style
from loadstone.report.inline import inline
from tests.synthetic import Synthetic

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("run", ["searched", "rated"])
def test_every_figure_is_there_as_svg_and_pdf(run: str, request: pytest.FixtureRequest):
    folder: Path = request.getfixturevalue(run)
    names_ = {path.stem for path in (folder / "report" / "figures").glob("*.svg")}
    own = {"searched": {"hold", "breaking-bars"}, "rated": {"latency-close", "mean-latency", "unfinished"}}
    assert names_ >= {"latency", "throughput", "spectrum", "operations", "cpu", "reference"}
    assert {name for names in own.values() for name in names} & names_ == own[run]
    for name in names_:
        root = ElementTree.parse(folder / "report" / "figures" / f"{name}.svg").getroot()
        assert root.tag == f"{SVG}svg"
        assert list(root.iter(f"{SVG}path"))
        pdf = (folder / "report" / "figures" / f"{name}.pdf").read_bytes()
        assert pdf.startswith(b"%PDF") and b"/FontFile2" in pdf, "publishers ask for embedded TrueType fonts"
        assert (folder / "report" / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_made_twice_has_the_same_bytes(searched: Path):
    report = searched / "report"
    before = {path: path.read_bytes() for path in report.rglob("*") if path.is_file()}
    page.build(searched)
    assert {path: path.read_bytes() for path in report.rglob("*") if path.is_file()} == before


def test_no_dates_and_no_machine_in_the_files(searched: Path):
    for path in (searched / "report" / "figures").iterdir():
        text = path.read_bytes()
        assert b"CreationDate" not in text and b"dc:date" not in text and b"/home/" not in text


def test_trials_of_an_unusual_time_are_pale(tmp_path: Path):
    content = gather(Synthetic(slow=(14, 25, 0.65)).write(tmp_path))
    with style.styled():
        figure = load.holding(content)
        assert figure is not None
        pale = {
            float(x)
            for collection in figure.axes[0].collections
            if to_hex(collection.get_facecolor()[0]) == style.PALE
            for x, _ in collection.get_offsets().tolist()
        }
    (treatment,) = content.treatments
    assert treatment.searched is not None
    unusual = [row for row in treatment.trials if treatment.searched.unusual(row)]
    assert pale and pale <= {row.rate for row in unusual}  # a trial far from the curve is not drawn


def test_the_latency_figure_has_a_marker_for_every_trial(searched: Path):
    content = gather(searched)
    with style.styled():
        figure = page.KINDS[0].draw(content)
        assert figure is not None
        (axes,) = figure.axes
        drawn = [tuple(point) for collection in axes.collections for point in collection.get_offsets().tolist()]
    column, _, limit = content.percentile
    rows = content.rows(LoadPoint)
    stopped = [row for row in rows if row.aborted_at_s is not None]
    assert stopped and all(getattr(row, column) is None for row in stopped)
    ran = [(row.rate, getattr(row, column)) for row in rows if row.aborted_at_s is None]
    assert sorted(drawn) == sorted([*ran, *((row.rate, 0.0) for row in stopped)])
    arrows = [collection for collection in axes.collections if collection.get_transform() is not axes.transData]
    on_axis = [c for c in arrows if c.get_offset_transform() == axes.get_xaxis_transform()]
    assert sum(len(c.get_offsets()) for c in on_axis) == len(stopped), "an arrow on the axis has no latency"
    low, high = axes.get_xlim()
    assert all(low < load < high for c in on_axis for load in c.get_offsets()[:, 0]), "every trial is in the plot"
    assert any(limit in line.get_ydata() for line in axes.lines)
    assert axes.get_yscale() == "log"
    for treatment in content.treatments:
        assert treatment.searched is not None and treatment.searched.result is not None
        point = treatment.searched.result.capacity.value
        assert any(point in line.get_xdata() for line in axes.lines)


def test_an_arrow_from_a_lower_bound_is_whole(rated: Path):
    content = gather(rated)
    bounds = {row.latency_bound_ms for row in content.rows(LoadPoint) if row.p99_ms is None}
    with style.styled():
        figure = page.KINDS[0].draw(content)
        assert figure is not None
        figure.draw_without_rendering()
        (axes,) = figure.axes
        arrows = [c for c in axes.collections if bounds and bounds <= set(c.get_offsets()[:, 1].tolist())]
        assert arrows
        for arrow in arrows:
            length = arrow.get_paths()[0].vertices[:, 1].max() * arrow.get_transforms()[0][1, 1]
            tops = axes.transData.transform(arrow.get_offsets())[:, 1] + length
            assert max(tops) <= axes.get_window_extent().y1


def test_the_ideal_line_of_throughput_is_the_diagonal(searched: Path):
    with style.styled():
        figure = next(kind for kind in page.KINDS if kind.name == "throughput").draw(gather(searched))
        assert figure is not None
        line = figure.axes[0].lines[0]
    assert list(line.get_xdata()) == list(line.get_ydata())


def test_verdicts_differ_by_shape_and_treatments_by_line():
    assert len({look["marker"] for look in style.VERDICTS.values()}) == 4
    assert len(set(names.LINES)) == len(names.LINES) >= names.ON_ONE_PANEL
    assert len(set(style.COLOURS)) == len(style.COLOURS)


def test_many_treatments_get_a_panel_for_each_level_of_the_first_factor(searched: Path):
    from dataclasses import replace

    (item, _) = gather(searched).treatments
    levels = [{"orchestrator": o, "scaling": s} for o in ("swarm", "nomad") for s in ("a", "b", "c", "d")]
    many = [replace(item, label=" ".join(level.values()), levels=level) for level in levels]
    panels = names.panelled(many)
    assert [title for title, _ in panels] == ["orchestrator: swarm", "orchestrator: nomad"]
    for _, series in panels:
        assert [item.name for item in series] == ["a", "b", "c", "d"]
        assert len({item.colour for item in series}) == 4


def test_an_inline_figure_follows_the_theme_and_has_ids_of_its_own(searched: Path):
    svg = (searched / "report" / "figures" / "latency.svg").read_bytes()
    a, b = inline(svg, "a", "first"), inline(svg, "b", "second")
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (a, b)]
    assert ids[0] and not ids[0] & ids[1]
    references = set(re.findall(r"url\(#([^)]+)\)", a)) | set(re.findall(r'href="#([^"]+)"', a))
    assert references and references <= ids[0]
    assert "var(--ink" in a and "var(--c0" in a
    assert 'aria-label="first"' in a
    assert "<metadata" not in a and "xmlns" not in a
    rules = re.findall(r"([^{}]+)\{[^}]*\}", re.findall(r"<style>(.*?)</style>", a)[0])
    assert rules and all(rule.startswith(".a .k") for rule in rules)  # they style nothing else in the page
    used = set(re.findall(r'class="(k\d+)"', a))
    assert used == {rule.removeprefix(".a .") for rule in rules}


def test_markers_of_one_look_say_it_once(searched: Path):
    svg = (searched / "report" / "figures" / "latency.svg").read_bytes()
    markers = ElementTree.fromstring(svg).iterfind(".//{http://www.w3.org/2000/svg}use")
    looks = [marker.get("class") for marker in markers]
    assert len(looks) > 30 and sum(look is None for look in looks) > 20
    assert b' style="' not in svg


def test_names_from_a_study_cannot_break_a_figure(tmp_path: Path):
    folder = Synthetic(rates=[200], factor="workload", capacities={"<b>&$x_1$": 700.0, "plain": 900.0}).write(tmp_path)
    page.build(folder)
    text = (folder / "report" / "figures" / "latency.svg").read_text()
    ElementTree.fromstring(text)
    assert "&lt;b&gt;&amp;" in text


def test_twelve_treatments_on_a_panel_differ_by_colour_or_line_and_all_by_their_marker(searched: Path):
    from dataclasses import replace

    (item, _) = gather(searched).treatments
    many = [replace(item, label=f"scaling={n}", levels={"scaling": f"level {n}"}) for n in range(12)]
    ((_, series),) = names.panelled(many)
    assert len({(each.colour, each.line) for each in series}) == len({each.marker for each in series}) == 12


def test_a_hatched_bar_keeps_its_colour_in_the_page():
    figure = Figure(figsize=(2, 2))
    with style.styled():
        figure.subplots().bar([0, 1], [1, 2], facecolor=style.COLOURS[1], hatch="////", edgecolor=style.QUIET)
        text = inline(style.save(figure, "svg"), "bars", "bars")
    assert f'fill="var(--c1, {style.COLOURS[1]})"' in text and "#bars-d55e00" not in text


def test_the_title_of_a_span_is_broken_at_its_slashes() -> None:
    span = "payment POST /payment/transfer/id/{id}/amount/{amount}"
    assert names.in_lines(span, 22).split("\n") == ["payment POST /payment", "/transfer/id/{id}", "/amount/{amount}"]
    assert names.in_lines("user GET /", 22) == "user GET /"
    assert names.in_lines("LinpackBenchmark1", 5) == "LinpackBenchmark1"


def test_a_treatment_with_too_few_answers_keeps_its_place_among_the_bars(tmp_path: Path):
    capacities = {"baseline": 20.0, "vertical": 900.0, "horizontal": 700.0}
    content = gather(Synthetic(capacities=capacities, rates=[200, 300], repetitions=2).write(tmp_path))
    with style.styled():
        figure = bars.at_loads(content)
        assert figure is not None
        panels = [(axes.get_title(loc="left"), axes.get_ylabel()) for axes in figure.axes]
        assert panels == [
            (f"{load} req/s", label)
            for load in (200, 300)
            for label in ("mean latency (ms)", "P99 latency (ms)", "not completed (%)")
        ]
        for axes in figure.axes:
            assert [label.get_text() for label in axes.get_xticklabels()] == list(capacities)
            drawn = [round(bar.get_x() + bar.get_width() / 2) for bar in axes.patches]
            assert drawn == ([0, 1, 2] if "completed" in axes.get_ylabel() else [1, 2])


def test_a_treatment_that_has_not_run_has_no_place_among_the_bars(tmp_path: Path):
    levels = ("swarm/baseline", "swarm/vertical", "nomad/baseline", "nomad/vertical")
    begun = Synthetic(
        factor="orchestrator/scaling", capacities=dict.fromkeys(levels, 700.0), stop_before=(levels[2], "bracket")
    )
    with style.styled():
        figure = bars.breaking(gather(begun.write(tmp_path)))
        assert figure is not None
        assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["baseline", "vertical"]
