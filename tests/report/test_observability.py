"""The page's part on observability: tables, figures, sentences; left out where nothing was observed."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from loadstone.analysis import trace_cache, usage
from loadstone.analysis.metrics.gather import ObservedRow
from loadstone.analysis.metrics.power import EnergyRow
from loadstone.analysis.traced_rows import TracedHeat, TracedOperation
from loadstone.report import content, format, observability, page, sections
from loadstone.report.figures import busy, critical, cstates, heat, loads, power, style, threads
from loadstone.report.figures.observability_kinds import PARTS
from loadstone.report.observability_tables import PageTable
from tests import observed
from tests.report.reading import Page
from tests.synthetic import Synthetic

TRACED = 40


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two treatments at four rates, observed on two nodes with everything, a few requests of each trial traced."""
    capacities = {"baseline": 700.0, "vertical": 1250.0}
    synthetic = Synthetic(name="rich", rates=[150, 400, 650, 900], duration_s=2, capacities=capacities)
    folder = synthetic.write(tmp_path_factory.mktemp("results"))
    observed.observe(folder, spans=TRACED, capacity=800)
    return built(folder)


@pytest.fixture(scope="module")
def poor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One machine that nodes share, without C-states, power and quotas, and without traces."""
    folder = Synthetic(name="poor", rates=[150, 400], duration_s=2).write(tmp_path_factory.mktemp("results"))
    observed.observe(folder, "poor")
    return built(folder)


def built(folder: Path) -> Path:
    """With its page, but without the figures that others test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "KINDS", ())
        patch.setattr(sections, "SECTIONS", ())
        page.build(folder)
    return folder


def read(folder: Path) -> tuple[str, Page]:
    text = (folder / "report" / "index.html").read_text(encoding="utf-8")
    return text, Page(text)


def page_text(folder: Path) -> str:
    return " ".join(" ".join(read(folder)[1].texts).split())


def gathered(folder: Path) -> observability.Observability:
    return observability.gather(content.gather(folder))


def test_the_page_has_all_parts_and_needs_nothing_from_outside(rich: Path):
    text, parsed = read(rich)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert [id_ for id_ in parsed.ids if id_.startswith("observability")] == [
        *(
            "observability",
            "observability-time",
            "observability-nodes",
            "observability-services",
            "observability-cstates",
            "observability-power",
        ),
        "observability-observing",
    ]
    for link in parsed.links:
        assert link.startswith(("#", "data:", "figures/", "tables/", "trials/", "treatments/")), link
        if not link.startswith(("#", "data:")):
            assert (rich / "report" / link).exists(), link
    assert not re.findall(r"(?:https?:)?//[a-z]", re.sub(r"base64,[\w+/=\s]+", "", text))


def test_every_figure_is_there_as_svg_and_pdf_and_in_the_page(rich: Path):
    names = [kind.name for part, kinds in PARTS.items() for kind in kinds if part != "guests"]  # it has none
    _, parsed = read(rich)
    assert "figure-guests" not in parsed.ids
    for name in names:
        root = ElementTree.parse(rich / "report" / "figures" / f"{name}.svg").getroot()
        assert root.tag.endswith("svg")
        assert (rich / "report" / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert f"figure-{name}" in parsed.ids
    for caption in re.findall(r"{\w+}", page_text(rich)):
        pytest.fail(f"a caption leaves {caption} open")


def test_what_one_machine_lacks_is_reported_of_it(rich: Path):
    assert gathered(rich).absent() == [("energy counters (client)", "no /sys/class/powercap")]


def test_captions_say_window_and_nodes(rich: Path):
    text = page_text(rich)
    assert "mean over the 2 nodes with replicas" in text
    assert "summed over the packages of the 2 nodes with replicas" in text
    assert "over the window (2 s)" in text
    assert "3 nodes; at most the six busiest" in text


def test_a_figure_drawn_twice_has_the_same_bytes(rich: Path):
    for kind in PARTS["time"]:
        with style.styled():
            figure = kind.draw(gathered(rich).content)
            assert figure is not None
            style.settle(figure)
            assert style.save(figure, "svg") == (rich / "report" / "figures" / f"{kind.name}.svg").read_bytes()


def values(table: PageTable) -> list[dict[str, Any]]:
    return [{column.name: value for column, value in zip(table.columns, row, strict=True)} for row in table.rows]


def test_tables_repeat_the_files_beside_the_page(rich: Path):
    with (rich / "report" / "tables" / "metrics_services.csv").open() as file:
        written = list(csv.DictReader(file))
    seen = gathered(rich)
    assert len(written) == 8 * len(observed.SERVICES)
    shown = seen.services()
    assert len(shown) == 2 * len(observed.SERVICES)
    trials = {t.label: highest.trial_id for t in seen.content.treatments if (highest := usage.highest_held(t))}
    for row in values(shown):
        (item,) = [w for w in written if (w["trial_id"], w["service"]) == (trials[row["treatment"]], row["service"])]
        assert float(item["cores"]) == row["cores"]
    assert {row["load"] for row in values(seen.energy())} == {
        max(t.rate for t in treatment.rows("held")) for treatment in seen.content.treatments
    }


def test_data_of_every_trial_is_beside_the_page_not_in_it(rich: Path):
    text, _ = read(rich)
    embedded = set(re.findall(r'download="(\w+)\.csv"', text))
    assert not {name for name in embedded if name.startswith(("metrics_", "traces_", "observed"))}
    assert len(text) < 1_500_000


def test_requests_traces_and_spans_are_compared(rich: Path):
    sums = [json.loads(file.read_text())["traces"] for file in rich.glob("trials/*/observed.json")]
    traces, requests = (format.count(sum(item[name] for item in sums)) for name in ("traces", "requests"))
    dropped = format.count(sum(item["dropped"] for item in sums))
    assert f"{traces} traces of {requests} requests came in" in page_text(rich)
    assert f"{dropped} were dropped, none was refused" in page_text(rich)
    assert all(row["recorded_of"] == "3 of 3" for row in values(gathered(rich).accounts()))


def test_the_service_that_grows_is_named(rich: Path):
    seen = gathered(rich)
    assert [service for service, _ in seen.traced.growing.values()] == ["search", "search"]
    assert "the share of search in the critical path grows from" in page_text(rich)
    shares = {}
    for row in values(seen.time()):
        shares[row["treatment"]] = shares.get(row["treatment"], 0) + row["held_critical_share"]
    assert shares == {treatment.label: pytest.approx(1) for treatment in seen.content.treatments}


def test_what_machines_lack_is_one_line_and_empty_columns_are_not_shown(poor: Path):
    text = page_text(poor)
    assert "Not on these machines: C-states, energy counters C-states: no /sys/devices/system/cpu/cpu0/cpuidle" in text
    assert "worker-1, worker-2 and client share one machine" in text
    assert not {"observability-time", "observability-cstates", "observability-power"} & set(read(poor)[1].ids)
    seen = gathered(poor)
    assert not {"throttled_share", "throttled_periods_share"} & {column.name for column in seen.services().columns}
    figures = {path.stem for path in (poor / "report" / "figures").glob("*.svg")}
    assert {"nodes", "services", "threads"} <= figures
    assert not {kind.name for part in ("time", "cstates", "power") for kind in PARTS[part]} & figures
    assert "throttling" not in figures


def test_a_page_without_metrics_has_nothing_of_it(rated: Path):
    text, parsed = read(rated)
    assert "observability" not in parsed.ids and "#observability" not in parsed.links
    assert "tables/metrics" not in " ".join(parsed.links)
    assert not gathered(rated)
    assert "figure-nodes" not in text


def test_doubts_are_listed(poor: Path, tmp_path: Path):
    folder = Path(shutil.copytree(poor, tmp_path / "run"))
    first = next(folder.glob("trials/*/observed.json"))
    text = json.loads(first.read_text())
    text["problems"] = ["the agent of worker-1 does not answer"]
    text["nodes"]["worker-1"]["absent"]["replica:geo-1"] = "no control group"
    first.write_text(json.dumps(text))
    assert gathered(folder).doubts() == [
        "the agent of worker-1 does not answer (1 of 2 trials)",
        "geo-1: no control group (1 of 2 trials)",
    ]
    assert not any("geo-1" in what for what, _ in gathered(folder).absent())


def draw(function, folder: Path):
    with style.styled():
        return function(gathered(folder).content)


def test_bars_of_c_states_fill_the_whole_and_power_adds_up(rich: Path):
    for axes in draw(cstates.residency, rich).axes:
        tops: dict[float, float] = {}
        for bar in axes.patches:
            tops[bar.get_x()] = tops.get(bar.get_x(), 0) + bar.get_height()
        assert list(tops.values()) == pytest.approx([100] * 4)
    rows = gathered(rich).content.rows(EnergyRow)
    for axes, treatment in zip(draw(power.domains, rich).axes, ("scaling=baseline", "scaling=vertical"), strict=True):
        total = sum(bar.get_height() for bar in axes.patches)
        assert total == pytest.approx(sum(row.watts or 0.0 for row in rows if row.treatment == treatment))


def test_every_trial_is_a_dot(rich: Path):
    for figure, count in ((draw(busy.nodes, rich), 3 * 8), (draw(threads.throttling, rich), 8)):
        assert sum(len(dots.get_offsets()) for axes in figure.axes for dots in axes.collections) == count


def test_the_icicle_is_whole_and_nothing_is_wider_than_what_calls_it(rich: Path):
    seen = gathered(rich).content
    for _, rows in critical.highest_held(seen):
        below, total = critical._inclusive(rows)
        assert sum(time for path, time in below.items() if len(path) == 1) == pytest.approx(total)
        for path, time in below.items():
            inner = sum(t for p, t in below.items() if p[:-1] == path)
            assert inner <= time * (1 + 1e-9)
    for axes in draw(critical.flame, rich).axes:
        assert max(bar.get_x() + bar.get_width() for bar in axes.patches) == pytest.approx(100)


def test_heat_counts_every_trace_of_a_window(rich: Path):
    rows = gathered(rich).content.rows(TracedHeat)
    services = gathered(rich).content.rows(TracedOperation)
    for trial in {row.trial_id for row in rows}:
        counted = sum(row.count for row in rows if row.trial_id == trial)
        roots = sum(
            row.count for row in services if row.trial_id == trial and row.service == "frontend" and not row.peer
        )
        assert counted == roots > 0
    assert len(draw(heat.heat, rich).axes) == len(
        [1 for t in gathered(rich).content.treatments for verdict in ("held", "not held") if t.count(verdict)]
    )


def test_of_many_loads_the_ends_and_some_between_are_shown():
    assert loads.shown([3, 1, 2, 2]) == [1, 2, 3]
    some = loads.shown(range(100))
    assert (some[0], some[-1], len(some)) == (0, 99, loads.MOST_LOADS)


def test_traces_are_analysed_once_and_again_where_spans_are_newer(
    rich: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    from loadstone.analysis import traces

    folder = Path(shutil.copytree(rich, tmp_path / "run"))
    read_files: list[Path] = []
    real = traces.read

    def counted(file: Path, *window: int) -> traces.SpanColumns:
        read_files.append(file)
        return real(file, *window)

    monkeypatch.setattr(traces, "read", counted)
    whole = gathered(folder).traced
    assert read_files == []
    kept = sorted(folder.glob("trials/*/traces.json"))
    assert len(kept) == 8
    kept[0].unlink()
    kept[1].write_text("{")
    kept[2].write_text(json.dumps(json.loads(kept[2].read_text()) | {"format": 0}))
    newer = kept[3].with_name("spans.parquet")
    stamp = kept[3].stat().st_mtime_ns + 1
    os.utime(newer, ns=(stamp, stamp))
    again = gathered(folder).traced
    assert sorted(file.parent.name for file in read_files) == [file.parent.name for file in kept[:4]]
    assert {name: table.to_pylist() for name, table in again.tables.items()} == {
        name: table.to_pylist() for name, table in whole.tables.items()
    }


def test_damaged_spans_are_a_doubt(rich: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rich, tmp_path / "run"))
    file = next(iter(sorted(folder.glob("trials/*/spans.parquet"))))
    file.with_name(trace_cache.FILE).unlink()
    file.write_bytes(b"PAR1")
    seen = gathered(folder)
    assert len(seen.traced.warnings) == 1 and file.parent.name in seen.traced.warnings[0]
    assert str(tmp_path) not in seen.traced.warnings[0]
    assert any(file.parent.name in text for text in seen.doubts())


def test_traces_are_compared_with_requests_of_trials_that_were_traced(rich: Path):
    every = gathered(rich).content.rows(ObservedRow)
    rows = [replace(row, requests=100, traces=10, received=50, produced=60, dropped=4, refused=0) for row in every[:2]]
    (came, made) = observability._spans(rows, len(rows))
    assert came == "**20** traces of 200 requests came in, with 100 spans."
    assert made == "Services produced 120 spans in these trials; 8 were dropped, none was refused."
    (came,) = observability._spans([rows[0], replace(rows[1], received=None, dropped=None)], 3)
    assert came == "**20** traces of 200 requests came in in 2 of 3 trials."


def test_memory_is_drawn_where_every_trial_has_it(rich: Path):
    rows = gathered(rich).content.rows(EnergyRow)
    assert power._parts(rows) == ["cores", "rest of the package", "DRAM"]
    assert power._parts([*rows, replace(rows[0], dram_watts=None)]) == ["cores", "rest of the package"]
