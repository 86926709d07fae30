"""The page's part of environments: what treatments ran in, and percentile curves laid over each other."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from scipy import stats

from loadstone.analysis.distribution_rows import RangeRow
from loadstone.analysis.environments import EnvironmentPercentileRow, EnvironmentRow
from loadstone.analysis.environments import environments as treatments_in
from loadstone.analysis.run import open_run
from loadstone.analysis.schema import rows
from loadstone.report import distributions, environments, page
from loadstone.report.content import gather
from loadstone.report.figures import style
from loadstone.report.figures.distributions import ranges
from loadstone.report.figures.environments import curves
from tests.distributions import write_hlog
from tests.report.reading import Page
from tests.synthetic import Synthetic

CAPACITIES = {"bare": 900.0, "vm": 700.0}


def varied(tmp_path: Path, **given: Any) -> Path:
    fixed = {"factor": "environment", "capacities": CAPACITIES, "rates": [200, 300], "repetitions": 3}
    return Synthetic(**{**fixed, "duration_s": 2.0, **given}).write(tmp_path)


def in_guests(folder: Path, accelerator: str = "kvm") -> None:
    """As if the trials of ``vm`` had run in guests of QEMU, two of them on a node that lost processor time."""
    stolen = iter((0.02, 0.04))
    for file in sorted(folder.glob("trials/*/trial.json")):
        content = json.loads(file.read_text())
        if content["row"]["factor_environment"] == "vm":
            content["row"] |= {"accelerator": accelerator, "nested": True, "steal_share": next(stolen, 0.0)}
        file.write_text(json.dumps(content))
    (folder / "trials.parquet").unlink()


def with_distributions(folder: Path) -> Path:
    """As if the generator had left those of its requests, of each trial another."""
    for number, place in enumerate(sorted((folder / "trials").iterdir())):
        values = 10_000 * np.random.default_rng(number).lognormal(0, 0.1, 200)
        write_hlog(place / "latency.hlog", {"intended": values})
    return folder


def tables_of(folder: Path) -> tuple[list[EnvironmentRow], list[EnvironmentPercentileRow]]:
    section = environments.gather(gather(folder))
    assert section is not None
    found = section.tables
    return rows(EnvironmentRow, found["environments"]), rows(EnvironmentPercentileRow, found["environment_percentiles"])


def test_what_each_treatment_ran_in_is_a_fact_of_the_page(tmp_path: Path) -> None:
    folder = varied(tmp_path)
    in_guests(folder)
    bare, vm = tables_of(folder)[0]
    assert (bare.environment, bare.accelerator, bare.nested, bare.steal_share) == ("bare", None, None, None)
    assert (vm.environment, vm.accelerator, vm.nested, vm.trials) == ("vm", "kvm", True, 6)
    assert vm.steal_share == pytest.approx(0.01)
    page.build(folder)
    text = " ".join(" ".join(Page((folder / "report" / "index.html").read_text(encoding="utf-8")).texts).split())
    assert "bare; vm by kvm, nested" in text
    assert "up to 4 % of a node's processor time" in text
    assert "are those of the comparison" in text
    assert (folder / "report" / "figures" / "environments.svg").exists()


def test_a_share_of_stolen_time_that_one_trial_did_not_record_is_not_the_mean_of_the_others(tmp_path: Path) -> None:
    run = open_run(varied(tmp_path))
    trials = tuple(
        row.model_copy(update={"steal_share": None if number == 0 else 0.02}) for number, row in enumerate(run.trials)
    )
    shares = [row.steal_share for row in treatments_in(replace(run, trials=trials))]
    assert sorted(shares, key=str) == [pytest.approx(0.02), None]


@pytest.mark.usefixtures("plain")
def test_trials_on_software_are_named_at_the_top_and_compared_with_nothing(tmp_path: Path) -> None:
    folder = with_distributions(varied(tmp_path, rates=[200]))
    in_guests(folder, accelerator="tcg")
    _, points = tables_of(folder)
    assert {row.environment for row in points} == {"bare"}
    text = " ".join(" ".join(Page(page.build(folder).read_text(encoding="utf-8")).texts).split())
    assert "3 trials had virtual machines with processors of software (tcg)" in text
    assert "are those of the comparison" not in text
    found = distributions.gather(gather(folder))
    assert found is not None and {row.treatment for row in rows(RangeRow, found.tables["distribution_ranges"])} == {
        "environment=bare"
    }


def test_the_runs_of_each_environment_differ_by_so_much(tmp_path: Path) -> None:
    """Without a span that the study names: of all requests, from the least distance of two runs to the greatest."""
    section = distributions.gather(content := gather(with_distributions(varied(tmp_path, rates=[200]))))
    assert section is not None and section.title == "Runs of all requests"
    found = rows(RangeRow, section.tables["distribution_ranges"])
    assert [(row.treatment, row.span, row.pairs) for row in found] == [
        ("environment=bare", "all requests", 3), ("environment=vm", "all requests", 3),
    ]  # fmt: skip
    assert all(row.ad_min <= row.ad_mean <= row.ad_max and 0 < row.ks_min <= row.ks_mean <= row.ks_max for row in found)
    content.tables.update(section.tables)
    with style.styled():
        figure = ranges(content)
    assert figure is not None
    assert [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes] == [
        "AD, all requests", "KS, all requests",
    ]  # fmt: skip


def test_a_curve_is_the_mean_over_runs_with_its_interval(tmp_path: Path) -> None:
    folder = varied(tmp_path)
    _, found = tables_of(folder)
    run = gather(folder).run
    trials = [row for row in run.trials if row.factors["environment"] == "vm" and row.rate == 300]
    values = []
    for trial in trials:
        summary = run.summary(trial.trial_id)
        assert summary is not None
        values += [log(intended) for percentile, intended, _ in summary.spectrum if percentile == 90 and intended]
    [row] = [row for row in found if (row.environment, row.rate, row.percentile) == ("vm", 300, 90)]
    reach = stats.t(2).ppf(0.975) * stats.sem(values)
    assert row.runs == 3 and row.latency_ms == pytest.approx(exp(fmean(values)))
    assert (row.latency_ms_low, row.latency_ms_high) == pytest.approx(
        (exp(fmean(values) - reach), exp(fmean(values) + reach))
    )
    offered = min(trial.offered or 0 for trial in trials)
    last = max(row.percentile for row in found if (row.environment, row.rate) == ("vm", 300))
    assert (100 - last) / 100 * offered >= 1


def test_a_run_in_which_nothing_was_answered_leaves_its_treatment_without_a_curve(tmp_path: Path) -> None:
    folder = varied(tmp_path, rates=[200])
    last = max(folder.glob("trials/*/summary.json"), key=lambda file: json.loads(file.read_text())["started"])
    summary = json.loads(last.read_text())
    counts = summary["counts"]
    counts |= {"completed": 0, "timeouts": counts["offered"]}
    last.write_text(json.dumps(summary))
    _, points = tables_of(folder)
    assert {row.environment for row in points} == {"bare"}


def test_environments_lie_over_each_other_at_each_load(tmp_path: Path) -> None:
    content = gather(varied(tmp_path))
    section = environments.gather(content)
    assert section is not None
    content.tables.update(section.tables)
    with style.styled():
        figure = curves(content)
    assert figure is not None
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["at 200 req/s", "at 300 req/s"]
    assert [len(axes.lines) for axes in figure.axes] == [2, 2]
    assert [text.get_text() for text in figure.legends[0].texts] == ["bare", "vm"]
    drawn = np.asarray(figure.axes[1].lines[1].get_ydata())
    assert list(drawn) == [
        row.latency_ms for row in content.rows(EnvironmentPercentileRow, environment="vm", rate=300.0)
    ]


def test_other_factors_have_panels_of_their_own(tmp_path: Path) -> None:
    capacities = {
        f"{level}/{scaling}": 900.0 for level in ("bare", "container") for scaling in ("baseline", "vertical")
    }
    folder = varied(tmp_path, factor="environment/scaling", capacities=capacities, rates=[200], repetitions=1)
    content = gather(folder)
    section = environments.gather(content)
    assert section is not None
    content.tables.update(section.tables)
    with style.styled():
        figure = curves(content)
    assert figure is not None
    titles = [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes]
    assert titles == ["scaling=baseline at 200 req/s", "scaling=vertical at 200 req/s"]


@pytest.mark.usefixtures("plain")
def test_a_search_has_no_curves_and_still_says_what_it_ran_in(tmp_path: Path) -> None:
    folder = varied(tmp_path, rates=None, repetitions=1, duration_s=1.0)
    found, points = tables_of(folder)
    assert [row.environment for row in found] == ["bare", "vm"] and points == []
    assert "as their audits found it" in page.build(folder).read_text(encoding="utf-8")


def test_a_study_of_one_environment_has_no_section(rated: Path) -> None:
    assert environments.gather(gather(rated)) is None
