"""``loadstone compare``: what it prints of treatments, of two runs and of breaking points, and what it refuses."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from loadstone.cli import compare
from tests.cli.conftest import RunCommand
from tests.synthetic import Synthetic
from tests.trial_rows import effect_row


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten blocks of a baseline twice and of one that is slower; a search of two; and one treatment alone."""
    folder = tmp_path_factory.mktemp("results")
    two = {"baseline": 1250.0, "vertical": 1250.0}
    slower = Synthetic(
        name="slower", capacities=two, slower_ms={"vertical": 0.5}, rates=[150], repetitions=10, comparison=True
    )
    slower.write(folder)
    Synthetic(name="searched", capacities={"baseline": 700.0, "vertical": 1250.0}).write(folder)
    Synthetic(name="alone", rates=[150]).write(folder)
    return folder


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], results: Path) -> RunCommand:
    return RunCommand(capsys, ["compare"], ["--results", str(results)])


def test_treatments_are_compared_with_the_baseline_and_that_with_itself(say: RunCommand) -> None:
    code, text, complaint = say("slower")
    assert (code, complaint) == (0, "")
    sentence, noise, *_ = text.splitlines()
    assert sentence.startswith("scaling=vertical against scaling=baseline at 150 req/s: P50 ")
    assert re.search(r"P50 \d+\.\d % longer \[\+\S+, \+\S+\] \(10 pairs, p = 0\.00", sentence)
    assert re.match(
        r"A/A at 150 req/s: P50 [+-]\d\.\d % \[\S+, \S+\]; P99 .*; with as many pairs, differences of", noise
    )
    rows = [line.split("  ")[0] for line in text[text.index("95 % interval") :].splitlines()[1:]]
    assert rows[:4] == ["A/A P50", "A/A P99", "all requests P50", "all requests P99"]
    assert "hotels P99" in rows
    assert re.search(r"^all requests P50 .* \+\d+\.\d %  \[\+\S+, \+\S+\] .* slower *$", text, re.MULTILINE)


def test_machines_get_the_same_numbers(say: RunCommand) -> None:
    code, text, _ = say("slower", "--json", "--margin", "30%")
    result = json.loads(text)
    assert (code, result["baseline"], result["method"], result["margin"]) == (0, "scaling=baseline", "paired", 0.3)
    [p50] = [row for row in result["comparison"] if (row["scope"], row["statistic"]) == ("requests", "p50")]
    assert p50["verdict"] == "equal", "half a millisecond is less than 30 %"
    assert p50["p_adjusted"] < 0.05
    assert p50["runs"] == 10
    assert result["noise"][0]["from_second_runs"] is True


def test_unpaired_is_reported(say: RunCommand) -> None:
    code, text, _ = say("slower", "--unpaired")
    assert code == 0
    assert "10 runs of each, unpaired" in text


def test_how_many_pairs_a_difference_takes(say: RunCommand) -> None:
    code, text, _ = say("slower", "--detect", "2%")
    assert code == 0
    p50, p99 = (
        re.search(rf"^{name} at 150 req/s +\S+ % +(\d+|> 10,000) ", text, re.MULTILINE) for name in ("P50", "P99")
    )
    assert p50 and p99
    assert int(p50[1]) < int(p99[1])
    result = json.loads(say("slower", "--detect", "2%", "--json")[1])["detect"]
    assert [row["pairs"] for row in result] == [int(p50[1]), int(p99[1])]
    assert all(row["pairs_low"] <= row["pairs"] <= row["pairs_high"] for row in result)


def test_breaking_points_stand_side_by_side(say: RunCommand) -> None:
    code, text, _ = say("searched")
    assert code == 0
    result = re.search(
        r"hold at (\S+) req/s \[.*\] with scaling=vertical, at (\S+) req/s \[.*\] with scaling=baseline"
        r" \(their breaking points\): (\S+)x \[(\S+), (\S+)\]",
        text,
    )
    assert result
    more, less, ratio, low, high = (float(number.replace(",", "")) for number in result.groups())
    assert low < ratio < high
    assert more / less == pytest.approx(ratio, rel=0.02)


def test_a_certain_regression_fails_the_gate_and_an_uncertain_does_not(say: RunCommand, tmp_path: Path) -> None:
    files = ("--junit", tmp_path / "new" / "gate.xml", "--markdown", tmp_path / "gate.md")
    code, text, complaint = say("slower", "--max-regression", "5%", *files)
    assert code == 5 and "error: 1 of 2 gates failed" in complaint
    assert re.search(r"^gate failed: P50 of scaling=vertical at 150 req/s: \+.* %\]; at most \+5\.0 %$", text, re.M)
    assert re.search(r"^gate cannot tell: P99 of scaling=vertical at 150 req/s", text, re.MULTILINE)
    suite = ElementTree.parse(files[1]).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    assert [len(case) and case[0].tag for case in suite] == ["failure", "skipped"]
    assert "| **failed** |" in Path(files[3]).read_text()
    code, text, _ = say("slower", "--max-regression", "14%", "--json")
    assert code == 0
    code, _, complaint = say("slower", "--max-regression", "14%", "--fail-undecided")
    assert code == 6 and "error: 1 of 2 gates cannot tell\n  ask for more: " in complaint
    assert [gate["answer"] for gate in json.loads(text)["gates"]] == ["cannot tell", "passed"]


def test_breaking_points_are_gated(say: RunCommand) -> None:
    code, text, _ = say("searched", "--max-regression", "5%")
    assert code == 0 and "gate passed: breaking point of scaling=vertical: +" in text
    code, text, _ = say("searched", "--max-regression", "5%", "--baseline", "vertical")
    assert code == 5 and "gate failed: breaking point of scaling=baseline: -4" in text


def test_a_search_without_an_estimate_cannot_tell(say: RunCommand, tmp_path: Path) -> None:
    two = {"baseline": 700.0, "vertical": 1250.0}
    folder = Synthetic(name="cut", capacities=two, highest=1000.0).write(tmp_path)
    code, text, complaint = say(folder, "--max-regression", "5%")
    assert code == 0, complaint
    assert "its search ended without an estimate (" in complaint
    assert "gate cannot tell: breaking point of scaling=vertical: no estimate; at least -5.0 %" in text
    assert say(folder, "--max-regression", "5%", "--fail-undecided")[0] == 6


def test_what_is_doubtful_about_breaking_points_is_reported(say: RunCommand, tmp_path: Path) -> None:
    two = {"baseline": 700.0, "vertical": 1250.0}
    folder = Synthetic(name="cut", capacities=two, stop_before=("vertical", "confirm")).write(tmp_path)
    code, _, complaint = say(folder)
    assert code == 0
    none = "of the fresh trials at and above the capacity none were run"
    assert f"warning: scaling=vertical: not confirmed: {none}" in complaint


def test_two_runs_of_different_times(say: RunCommand, results: Path) -> None:
    first = results / "slower" / "20260102-030405"
    second = results / "slower-later" / "20260202-030405"
    shutil.copytree(first, second)
    facts = json.loads((second / "provenance.json").read_text())
    facts["host"]["cpu"] = "Another"
    (second / "provenance.json").write_text(json.dumps(facts))
    code, text, complaint = say(first, second)
    assert code == 0
    assert "not interleaved" in complaint
    assert "the machines differ: processor" in complaint
    assert "scaling=vertical (20260202-030405) against scaling=vertical (20260102-030405)" in text
    for label in ("baseline", "vertical"):
        assert f"A/A of scaling={label} (20260102-030405) at 150 req/s" in text
    planned = say(first, second, "--detect", "2%")[1]
    assert re.findall(r"^P50 of scaling=(\w+) \(20260102-030405\) at 150 req/s ", planned, re.MULTILINE) == [
        "baseline",
        "vertical",
    ]
    shutil.rmtree(second.parent)


def test_one_more_pair_is_no_pairs() -> None:
    assert compare._verdict(effect_row(verdict="cannot tell", needed=1)) == "+1 pair"
    assert compare._verdict(effect_row(verdict="cannot tell", needed=1200, method="unpaired")) == "+1,200 runs"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alone"], "nothing to compare"),
        (["nothing"], "no run 'nothing'"),
        (
            ["slower", "--baseline", "nomad"],
            "--baseline 'nomad' names no treatment of this run; it has: scaling=baseline; ",
        ),
        (["slower", "--margin", "5"], "--margin: '5' has no unit; use %"),
        (["slower", "--detect", "0%"], "--detect: 0% is not between 0.1% and 50%"),
        (["slower", "searched", "--baseline", "vertical"], "--baseline selects a treatment of one run"),
        (["slower", "slower"], "slower and slower are the same run; give two, or one to compare its treatments"),
        (["slower", "alone"], "the two runs have no treatment in common"),
        (["slower", "--junit", "gate.xml"], "--junit, --markdown and --fail-undecided are about a gate"),
        (["slower", "--max-regression", "5"], "--max-regression: '5' has no unit; use %, for example 5%"),
        (["searched", "--detect", "2%"], "no A/A comparison to plan from"),
    ],
)
def test_what_cannot_be_is_refused(say: RunCommand, arguments: list[str], message: str) -> None:
    code, text, complaint = say(*arguments)
    assert (code, text) == (2, "")
    assert message in complaint
