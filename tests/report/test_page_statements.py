"""What the page states of its numbers is what they are: of which trials, of which requests, with which unit."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from loadstone.analysis.latency import by_rate
from loadstone.analysis.schema import tables
from loadstone.analysis.summary import TreatmentSummary
from loadstone.analysis.usage import ServiceCpu
from loadstone.report import page, sentences
from loadstone.report.content import gather
from loadstone.report.figures import cpu, look, style
from loadstone.report.figures.kinds import KINDS
from tests.report.reading import Page
from tests.synthetic import Synthetic
from tests.trial_rows import trial_row


def build(folder: Path) -> Page:
    return Page(page.build(folder).read_text(encoding="utf-8"))


def change(folder: Path, **columns: Any) -> str:
    """Give the first trial other columns, and return its id."""
    table = pq.read_table(folder / "trials.parquet")
    rows = table.to_pylist()
    rows[0] |= columns
    pq.write_table(table.from_pylist(rows, schema=table.schema), folder / "trials.parquet")
    return str(rows[0]["trial_id"])


@pytest.mark.usefixtures("plain")
def test_a_share_to_complete_is_not_rounded(tmp_path: Path) -> None:
    folder = Synthetic(rates=[100], duration_s=0.5).write(tmp_path)
    plan = (folder / "plan.json").read_text()
    (folder / "plan.json").write_text(plan.replace('"completed": "99%"', '"completed": "99.95%"'))
    assert "99.95 % completed" in " ".join(" ".join(build(folder).texts).split())


@pytest.mark.usefixtures("plain")
def test_one_valid_trial_has_no_range_over_repetitions(tmp_path: Path) -> None:
    folder = Synthetic(rates=[100, 200], repetitions=2, duration_s=0.5, invalid=(1, 2, 3)).write(tmp_path)
    first, second = build(folder).rows("rates")
    assert first["Held"] == "2 invalid" and second["Held"] == "1 of 1, 1 invalid"
    assert first["over repetitions"] == second["over repetitions"] == ""


@pytest.mark.usefixtures("plain")
def test_an_invalid_trial_that_was_stopped_did_not_break(tmp_path: Path) -> None:
    folder = Synthetic(rates=[100, 200], duration_s=0.5, invalid=(1,)).write(tmp_path)
    trial = change(folder, aborted_at_s=0.25)
    build(folder)
    written = (folder / "report" / "trials" / f"{trial}.html").read_text(encoding="utf-8")
    text = " ".join(re.sub("<[^>]+>", " ", written).split())
    assert "Stopped at 0.25" in text and "This trial was stopped" in text
    assert "Broke" not in text and "broke" not in text


def test_a_treatment_whose_services_use_little_leaves_the_others_their_figure(tmp_path: Path) -> None:
    capacities = {"baseline": 1000.0, "vertical": 1000.0}
    found = gather(Synthetic(capacities=capacities, rates=[100], duration_s=0.5).write(tmp_path))
    rows = found.rows(ServiceCpu)
    little = [row for row in rows if row.treatment == "scaling=baseline"]
    little += [replace(row, service=f"{row.service} 2", cores=row.cores * 1e-4) for row in rows if row not in little]
    with style.styled(look.USUAL):
        figure = cpu.cpu(replace(found, tables=found.tables | tables((ServiceCpu, little))))
    assert figure is not None and len(figure.axes) == 1
    [caption] = [kind.caption for kind in KINDS if kind.name == "cpu"]
    assert f"at most the {cpu._MOST} busiest" in caption


def test_captions_state_which_answers_a_mean_is_of_and_which_trials_are_drawn() -> None:
    captions = {kind.name: kind.caption for kind in KINDS}
    assert "correct answers alone" in captions["mean-latency"]
    assert "full trials" in captions["hold"]
    assert "full" in captions["cpu"] and "full" in captions["operations"]


def test_what_a_closed_loop_completed_is_the_median_over_its_trials_as_in_the_table() -> None:
    completed = {1: (50.0, 60.0, 58.0), 40: (400.0, 90.0, 410.0)}
    rows = tuple(
        trial_row(
            trial_id=f"{clients}-{n}", clients=clients, rate=0.0, phase="closed", verdict="measured", throughput=each
        )
        for clients, some in completed.items()
        for n, each in enumerate(some)
    )
    treatment = TreatmentSummary("a", "a", {}, rows, None, None, (), ())
    both = "**58 req/s** with 1 client and **400 req/s** with 40 clients"
    assert sentences._measured(treatment) == f"completed {both} (medians over trials), in a closed loop."
    assert [row.throughput for row in by_rate([treatment])] == [58.0, 400.0]
    alone = TreatmentSummary("a", "a", {}, rows[:1], None, None, (), ())
    assert sentences._measured(alone) == "completed **50 req/s** with 1 client, in a closed loop."


def test_captions_explain_lines_bands_and_markers() -> None:
    kinds = {kind.name: kind for kind in KINDS}
    for name in ("latency", "throughput"):
        closed = kinds[name].closed
        assert closed is not None
        for caption in (kinds[name].caption, closed[1]):
            assert "95 % band" in caption and "median" in caption, name
    assert "grey: invalid" in kinds["latency"].caption and "grey: invalid" in kinds["throughput"].caption


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("rates", "where"),
    [
        ([100, 200], "at the highest load that held"),
        ([5000, 6000], "at the lowest load that did not hold"),
        ([100, 5000], "beside the breaking point"),
    ],
    ids=["all held", "none held", "both"],
)
def test_headings_name_a_breaking_point_only_where_there_is_one(tmp_path: Path, rates: list[float], where: str) -> None:
    folder = Synthetic(rates=rates, duration_s=2.0).write(tmp_path)
    assert f"<h2>Operations {where}</h2>" in page.build(folder).read_text(encoding="utf-8")
    [kind] = [kind for kind in KINDS if kind.name == "operations"]
    assert kind.texts(gather(folder))[0] == f"Latency by operation {where}"


@pytest.mark.parametrize(
    ("verdicts", "where"),
    [
        ([("held", "not held"), ("held",)], "at the highest load that held and the lowest load that did not hold"),
        ([("measured",)], "at the highest load"),
    ],
)
def test_a_heading_is_true_of_every_treatment(tmp_path: Path, verdicts: list[tuple[str, ...]], where: str) -> None:
    content = gather(Synthetic(rates=[100], duration_s=0.5).write(tmp_path))
    (only,) = content.treatments
    treatments = [replace(only, trials=tuple(trial_row(verdict=each) for each in some)) for some in verdicts]
    assert replace(content, treatments=treatments).beside == where
