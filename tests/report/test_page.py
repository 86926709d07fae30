"""The page says what the tables say, works alone, and copes with every state of a run."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from loadstone.analysis.latency import OperationRow, RateRow, SpectrumPoint
from loadstone.analysis.usage import ServiceCpu
from loadstone.model.errors import InputError
from loadstone.report import format, page, sentences
from loadstone.report.content import gather
from tests.report.reading import Page
from tests.synthetic import Synthetic


def read(folder: Path) -> tuple[str, Page]:
    text = (folder / "report" / "index.html").read_text(encoding="utf-8")
    return text, Page(text)


@pytest.mark.parametrize("run", ["searched", "rated", "crossed"])
def test_the_page_is_well_formed_and_needs_nothing_from_outside(run: str, request: pytest.FixtureRequest):
    folder: Path = request.getfixturevalue(run)
    text, parsed = read(folder)
    assert len(parsed.ids) == len(set(parsed.ids))
    for link in parsed.links:
        assert link.startswith(("#", "data:", "figures/", "tables/", "trials/", "treatments/")), link
        if link.startswith("#"):
            assert link[1:] in parsed.ids
        elif not link.startswith("data:"):
            assert (folder / "report" / link).exists(), link
    assert not re.findall(r"(?:https?:)?//[a-z]", re.sub(r"base64,[\w+/=]+", "", text))
    assert "@import" not in text and "url(http" not in text


def test_the_answer_comes_first_with_its_numbers(searched: Path):
    _, parsed = read(searched)
    expected = " ".join(" ".join(parsed.texts).split())
    first, second = (t.searched.result.capacity for t in gather(searched).treatments)  # type: ignore[union-attr]
    assert f"is from {format.rate(first.value)} (scaling=baseline) to {format.rate(second.value)}" in expected
    trials = sum(t.count("held") + t.count("not held") for t in gather(searched).treatments[1:])
    interval = format.interval(second.low, second.high)
    point = gather(searched).treatments[1].searched.result.breaking_point  # type: ignore[union-attr]
    half = f"{format.rate(point.value)} {format.interval(point.low, point.high)}"
    assert (
        f"has a capacity of {format.rate(second.value)} {interval} : 95 % of trials hold P99 ≤ 200 ms there. "
        f"At {half}, its breaking point, only half of them do (95 % intervals; from {trials} trials)"
    ) in expected.replace(f"{interval}:", f"{interval} :")
    places = [expected.index(text) for text in ("The capacity of", "Read this first", "(95 % interval")]
    assert places == sorted(places)


def test_the_table_of_breaking_points_repeats_the_csv(searched: Path):
    _, parsed = read(searched)
    content = gather(searched)
    shown = parsed.rows("breaking-points")
    with (searched / "report" / "tables" / "breaking_points.csv").open() as file:
        written = list(csv.DictReader(file))
    assert len(shown) == len(written) == 2
    for row, data in zip(shown, written, strict=True):
        assert row["Treatment"] == data["treatment"]
        assert row["Breaking point req/s"] == format.number(float(data["breaking_point"]))
        ends = (float(data[f"breaking_point_{end}"]) for end in ("low", "high"))
        assert row["95 % interval of breaking point"] == format.interval(*ends)
        ends = (float(data[f"capacity_{end}"]) for end in ("low", "high"))
        assert row["95 % interval"] == format.interval(*ends)
        assert row["Capacity req/s"] == format.number(float(data["capacity"]))
        assert row["Confirmed"] == "yes: not 15 % off" and data["off_share"] == "0.15"
        assert row["Trials full + short"] == f"{data['full_trials']} + {data['bracket_trials']}"
    for treatment in content.treatments:
        assert treatment.searched is not None
        assert all(f"#t-{trial}" in parsed.links for trial in treatment.searched.evidence)


def test_two_factors_give_a_grid_of_breaking_points(crossed: Path):
    _, parsed = read(crossed)
    made = gather(crossed).grid
    assert made is not None
    head, *rows = parsed.tables["grid"]
    assert [cell.split()[0] for cell in head] == ["Treatment", "nomad", "swarm"]
    assert [row[0].strip() for row in rows] == ["scaling=baseline", "scaling=horizontal"]
    for row, estimates in zip(rows, made.cells, strict=True):
        for cell, point in zip(row[1:], estimates, strict=True):
            assert point is not None
            assert cell.strip() == f"{format.number(point.value)} {format.interval(point.low, point.high)}"
    latex = (crossed / "report" / "tables" / "grid.tex").read_text()
    assert latex.count(r"\\") == 3
    assert "Treatment & Nomad [95 \\% interval] (requests/s) & Swarm [95 \\% interval] (requests/s)" in latex


def test_the_table_of_trials_has_them_all_with_verdict_and_reason(searched: Path):
    _, parsed = read(searched)
    rows = {row["Trial"]: row for row in parsed.rows("trials")}
    trials = gather(searched).run.trials
    assert set(rows) == {trial.trial_id for trial in trials}
    for trial in trials:
        row = rows[trial.trial_id]
        assert row["Verdict"].endswith(trial.verdict)
        assert row["P99"] == format.milliseconds(trial.p99_ms)
        assert row["Offered req/s"] == format.number(trial.rate)
        why = row["Reasons and warnings"]
        assert all(reason in why for reason in trial.reasons)
        assert ("broke at" in why) == (trial.aborted_at_s is not None)
        if trial.aborted_at_s is not None:
            assert {row[name] for name in ("P50", "P99", "Completed req/s", "Dropped")} == {format.NOTHING}


def test_what_broke_and_was_stopped_has_no_number_anywhere(searched: Path):
    report = searched / "report"
    stopped = [row for row in gather(searched).run.trials if row.stopped]
    with (report / "tables" / "trials.csv").open() as file:
        written = {row["trial_id"]: row for row in csv.DictReader(file)}
    latex = (report / "tables" / "trials.tex").read_text()
    assert stopped and "Broke at (s)" in latex
    for row in stopped:
        assert {written[row.trial_id][name] for name in ("p99_ms", "throughput", "completed", "in_flight")} == {""}
        (line,) = [line for line in latex.splitlines() if line.startswith(f"{row.order} & ")]
        assert line.count("& -- ") >= 6 and f"& {format.number(row.aborted_at_s)} " in line
        expected = re.sub("<[^>]+>", " ", (report / "trials" / f"{row.trial_id}.html").read_text())
        assert format.broke(row) in expected and "no latency or throughput is reported" in expected
        assert not [name for name in ("P99", "Throughput", "Completed", "In flight", "over time") if name in expected]
    for treatment in gather(searched).treatments:
        page_of = (report / "treatments" / f"{treatment.id}.html").read_text()
        loads = sum(row.treatment == treatment.label for row in stopped)
        (arrows,) = re.findall(r'class="d s\d broke" d="(M[^"]+v-10[^"]*v-10[^"]*)"', page_of) or [""]
        assert arrows.count("v-10") == loads if loads > 1 else True
    for kind in (OperationRow, ServiceCpu, SpectrumPoint):
        shown = {row.trial_id for row in gather(searched).rows(kind)}
        assert not shown & {row.trial_id for row in stopped}, kind.NAME


def test_rates_operations_and_cpu_repeat_their_tables(rated: Path):
    _, parsed = read(rated)
    content = gather(rated)
    for shown, row in zip(parsed.rows("rates"), content.rows(RateRow), strict=True):
        assert shown["P99"] == format.latency(row.p99_ms, row.latency_bound_ms)
        assert shown["Held"] == f"{row.held} of {row.held + row.not_held}"
        ends = format.milliseconds(row.p99_lowest_ms), format.latency(row.p99_highest_ms, row.latency_bound_ms)
        assert shown["over repetitions"] == ("" if row.p99_lowest_ms is None else " – ".join(ends))
    for shown, row in zip(parsed.rows("operations"), content.rows(OperationRow), strict=True):
        assert (shown["Operation"], shown["P50"]) == (row.operation, format.milliseconds(row.p50_ms))
        assert shown["Requests"] == format.count(row.offered)
    for shown, row in zip(parsed.rows("cpu"), content.rows(ServiceCpu), strict=True):
        assert (shown["Service"], shown["Cores"]) == (row.service, format.cores(row.cores))


def test_a_percentile_of_which_only_a_bound_is_known_is_above_it_on_every_page(rated: Path):
    text, parsed = read(rated)
    slow = [row for row in gather(rated).run.trials if row.p99_ms is None and row.latency_bound_ms is not None]
    shown = {row["Trial"]: row["P99"] for row in parsed.rows("trials")}
    assert slow and "slower: too few answered" in text
    for row in slow:
        bound = format.milliseconds(row.latency_bound_ms)
        assert shown[row.trial_id] == f"> {bound}"
        page = (rated / "report" / "trials" / f"{row.trial_id}.html").read_text()
        assert f"P99 &gt; {bound}" in page and "Max" in page
    latex = (rated / "report" / "tables" / "rates.tex").read_text()
    assert r"\textgreater{} 2" in latex


def test_downloads_are_the_csv_files(searched: Path):
    text, _ = read(searched)
    links = dict(re.findall(r'download="(\w+)\.csv" href="data:text/csv;base64,([^"]+)"', text))
    assert {"breaking_points", "load", "hold", "spectrum", "operations", "cpu", "trials", "audit"} <= set(links)
    for name, data in links.items():
        assert base64.b64decode(data) == (searched / "report" / "tables" / f"{name}.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(links["trials"]).decode())))
    assert [row["trial_id"] for row in rows] == [row.trial_id for row in gather(searched).run.trials]


def test_provenance_and_the_command_to_repeat(searched: Path):
    _, parsed = read(searched)
    expected = " ".join(parsed.texts)
    assert "loadstone run study.yaml" in expected
    assert "loadstone run studies/synthetic.yaml" in expected
    table = {row[0]: row[1] for row in parsed.tables["provenance"]}
    assert table["host: cpu"] == "Synthetic Xeon 8-core <2.4 GHz>"
    assert table["host: memory"] == "31.1 GiB"
    assert table["software: postgres"] == "15.9"
    assert table["node local"].startswith("role worker")
    assert table["tuned for scaling=baseline"].startswith("2 values of its hosts; provenance.json has")
    assert not any("/sys/a" in name for name in table)


STATES = {
    "no trial": (Synthetic(stop_after=0), "No trial has finished yet."),
    "one trial": (Synthetic(rates=[200, 500], stop_after=1), "Not finished: 1 of 2 planned trials."),
    "one trial of a search": (Synthetic(stop_after=1), "in every trial: its capacity lies above"),
    "only invalid": (Synthetic(rates=[200, 500, 800], invalid=(1, 2, 3)), "All 3 trials are invalid"),
    "only one, invalid": (Synthetic(stop_after=1, invalid=(1,)), "The only trial is invalid"),
    "none held": (Synthetic(start=3000, stop_after=1), "did not hold P99 ≤ 200 ms in any trial"),
    "none held at rates": (Synthetic(rates=[3000]), "even at the lowest rate"),
    "all held": (Synthetic(highest=400), "its capacity lies above"),
    "all held at rates": (Synthetic(rates=[100, 200]), "the highest rate tried"),
    "bracketed": (Synthetic(stop_after=5), "short trials only so far"),
    "stopped in the search": (Synthetic(stop_after=9), "not confirmed"),
    "a treatment still to come": (
        Synthetic(capacities={"baseline": 700.0, "vertical": 900.0}, rates=[100, 200], stop_after=2),
        "scaling=vertical: no trial yet",
    ),
}


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("state", STATES)
def test_every_state_of_a_run_gives_a_page_that_says_so(state: str, tmp_path: Path):
    synthetic, text = STATES[state]
    folder = synthetic.write(tmp_path)
    assert page.build(folder) == folder / "report" / "index.html"
    _, parsed = read(folder)
    assert text in " ".join(" ".join(parsed.texts).split())


@pytest.mark.usefixtures("plain")
def test_a_damaged_run_gives_a_page_that_says_what_is_missing(rated: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rated, tmp_path / "run"))
    trials = sorted((folder / "trials").iterdir())
    (trials[0] / "summary.json").write_text("{")
    (trials[1] / "usage.json").write_text('[{"service": 1}]')
    (trials[2] / "audit.json").unlink()
    (trials[3] / "trial.json").write_text("")
    (folder / "trials.parquet").unlink()
    (folder / "provenance.json").unlink()
    page.build(folder)
    _, parsed = read(folder)
    expected = " ".join(parsed.texts)
    assert f"{trials[0].name} summary.json" in expected
    assert f"{trials[1].name} usage.json" in expected
    assert f"{trials[3].name} (cannot be read" in expected
    assert "provenance.json is missing" in expected


@pytest.mark.usefixtures("plain")
def test_names_from_a_study_are_text_in_the_page(tmp_path: Path):
    folder = Synthetic(rates=[200], stop_after=1).write(tmp_path)
    plan = json.loads((folder / "plan.json").read_text())
    plan["study"]["description"] = "<script>alert(1)</script> & 'more'"
    plan["application"]["name"] = "<img src=x> **bold**"
    (folder / "plan.json").write_text(json.dumps(plan))
    page.build(folder)
    text, parsed = read(folder)
    assert "<script>alert" not in text and "<img" not in text
    assert "<script>alert(1)</script> & 'more'" in " ".join(parsed.texts)


@pytest.mark.usefixtures("plain")
def test_an_earlier_report_leaves_nothing_behind(tmp_path: Path):
    folder = Synthetic(rates=[200], stop_after=1).write(tmp_path)
    page.build(folder)
    (folder / "report" / "figures" / "old.svg").write_text("x")
    page.build(folder)
    assert not (folder / "report" / "figures" / "old.svg").exists()


def test_where_there_is_no_run_it_says_so(tmp_path: Path):
    with pytest.raises(InputError, match="holds no run"):
        page.build(tmp_path)


def test_a_warning_that_came_again_with_another_share_is_shown_once(tmp_path: Path) -> None:
    run = Synthetic(rates=[100]).write(tmp_path / "run")
    provenance = json.loads((run / "provenance.json").read_text())
    others = ["worker-1: low on memory", "worker-2: low on memory"]
    provenance["warnings"] = [
        "other load: 98% of the processors are busy",
        *others,
        "other load: 100% of the processors are busy",
    ]
    (run / "provenance.json").write_text(json.dumps(provenance))
    shown = sentences.warnings(gather(run))
    assert [text for text in shown if "other load" in text] == ["other load: 98% of the processors are busy"]
    assert [text for text in shown if "low on memory" in text] == others
