"""Trials on processors of software (tcg) are compared with nothing, predict nothing, and are results of no study."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.analysis import capacity, claims, comparison, gate, summary
from loadstone.analysis.environments import percentiles
from loadstone.analysis.history.rows import of_run
from loadstone.analysis.placement.tables import valid
from loadstone.analysis.published import beside
from loadstone.analysis.published.matching import SOFTWARE
from loadstone.analysis.reproduction import reading
from loadstone.analysis.run import RunFolder, open_run
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.claim import Claim
from loadstone.model.errors import InputError
from loadstone.model.papers import Published
from tests.synthetic import Synthetic

CAPACITIES = {"bare": 900.0, "container": 880.0, "vm": 300.0}
WHY = "processors were software (tcg), on which nothing is measured"
Write = Callable[..., Path]


def on_software(folder: Path, *levels: str) -> Path:
    """As if the trials of these levels had run in guests without KVM."""
    for file in folder.glob("trials/*/trial.json"):
        content = json.loads(file.read_text())
        if content["row"]["factor_environment"] in levels:
            content["row"] |= {"accelerator": "tcg", "environment": "vm (emulated)"}
        file.write_text(json.dumps(content))
    (folder / "trials.parquet").unlink(missing_ok=True)
    return folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Three environments at two rates, six runs of each, those of ``vm`` on software."""
    made = Synthetic(CAPACITIES, factor="environment", rates=[100, 200], repetitions=6, duration_s=1.0)
    return open_run(on_software(made.write(tmp_path_factory.mktemp("mixed")), "vm"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, RunFolder]:
    """The same run twice: as it was, and all on software."""
    made = Synthetic({"bare": 900.0, "container": 880.0}, factor="environment", duration_s=2.0)
    real = made.write(tmp_path_factory.mktemp("whole"))
    copy = tmp_path_factory.mktemp("software") / real.parent.name / real.name
    shutil.copytree(real, copy)
    return open_run(real), open_run(on_software(copy, "bare", "container"))


def vm_of(run: RunFolder) -> TreatmentSummary:
    [found] = [each for each in summary.treatments(run) if each.levels["environment"] == "vm"]
    return found


def test_a_comparison_leaves_them_out_and_says_so(mixed: RunFolder) -> None:
    found = comparison.within(mixed)
    named = {row.treatment for row in (*found.effects, *found.shapes, *found.shifts)}
    assert any("container" in name for name in named) and not any("vm" in name for name in named)
    [doubt] = [text for text in found.warnings if "tcg" in text]
    assert doubt == f"12 trials were left out, and with each its pair: their {WHY}"
    with pytest.raises(InputError, match="names no treatment"):
        comparison.within(mixed, baseline="vm")


def test_nothing_is_left_to_compare_where_all_are(whole: tuple[RunFolder, RunFolder]) -> None:
    real, software = whole
    assert comparison.comparable(real) and not comparison.comparable(software)
    assert comparison.within(real).capacities
    for compare in (lambda: comparison.within(software), lambda: comparison.between(real, software)):
        with pytest.raises(InputError, match=r"nothing to compare: its processors were software \(tcg\)"):
            compare()


def test_they_are_no_part_of_a_history(mixed: RunFolder, whole: tuple[RunFolder, RunFolder]) -> None:
    assert {row.treatment for row in of_run(mixed)} == {"environment=bare", "environment=container"}
    real, software = whole
    assert of_run(real) and of_run(software) == []


def test_no_gate_is_passed_or_failed_by_them(whole: tuple[RunFolder, RunFolder]) -> None:
    for least, answer in ((1.0, "passed"), (10_000.0, "failed")):
        limits = [gate.Limit("capacity", least)]
        real, software = (gate.limits(summary.treatments(run), limits) for run in whole)
        assert {each.answer for each in real} == {answer}
        assert {each.answer for each in software} == {"cannot tell"}


def test_they_predict_nothing(whole: tuple[RunFolder, RunFolder]) -> None:
    real, software = (summary.treatments(run)[0] for run in whole)
    assert capacity.fit(whole[0], real).breaking_point.value > 0
    with pytest.raises(capacity.CannotFit, match=r"bare: its processors were software \(tcg\)"):
        capacity.fit(whole[1], software)


def test_no_published_value_is_laid_beside_them(whole: tuple[RunFolder, RunFolder]) -> None:
    """Also not one of a study that says nothing of environments."""
    levels: dict[str, str] = {}
    value = Published(
        source="", quantity="", measure="breaking_point", span=None, node_of=None, at=None, levels=levels,
        unit="req/s", value=500.0, low=None, high=None, why="",
    )  # fmt: skip
    real, software = (beside(run, summary.treatments(run), [value]) for run in whole)
    assert [row.treatment for row in real] == ["environment=bare", "environment=container"]
    assert [(row.treatment, row.why) for row in software] == [(None, f"its {WHY}")]


def test_no_claim_is_judged_by_them(mixed: RunFolder) -> None:
    def judged(level: str) -> list[claims.ClaimRow]:
        keys = {"text": "a", "measure": "p50", "of": {"environment": level}, "between": [0, 1]}
        return claims.judge(mixed, summary.treatments(mixed), [Claim.model_validate(keys)])

    assert len(judged("bare")) == 1
    assert [(row.answer, row.why) for row in judged("vm (emulated)")] == [("not tested", SOFTWARE)]
    assert [(row.answer, row.why) for row in judged("vm")] == [("not tested", "no such treatment")]


def test_they_are_no_runs_of_a_placement_nor_of_a_best_fit_nor_of_a_curve(mixed: RunFolder) -> None:
    bare, vm = summary.treatments(mixed)[0], vm_of(mixed)
    assert len(reading.runs(bare)) == len(valid(bare)) == 12
    assert reading.runs(vm) == valid(vm) == []
    assert {row.treatment for row in percentiles(mixed)} == {"environment=bare", "environment=container"}
