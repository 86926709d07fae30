"""``loadstone run --gate``: what it prints of a finished run, and what it refuses before a run."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from loadstone.report import page
from tests.cli.conftest import RunCommand

FINISHED = sorted((Path(__file__).parents[1] / "fixtures").glob("release-*.tar.xz"))[0]
FIXED = """version: 1
name: fixed
application: hotel-reservation
load: {rates: [100], slo: {p99: 200ms}}
"""


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A finished search, whose report is not written again."""
    monkeypatch.setattr(page, "build", lambda folder: folder / "report" / "index.html")
    with tarfile.open(FINISHED) as archive:
        archive.extractall(tmp_path / "run", filter="data")
    (folder,) = (tmp_path / "run").iterdir()
    return str(folder)


def test_a_certain_lack_of_capacity_fails_the_gate(say: RunCommand, finished: str) -> None:
    resume = ("run", "--shared-ok", "--resume", finished)
    code, text, complaint = say(*resume, "--gate", "capacity >= 1", "--gate", "breaking-point >= 1")
    assert code == 0, complaint
    assert text.count("gate passed: ") == 2
    code, text, complaint = say(*resume, "--gate", "capacity >= 90000")
    assert code == 5 and "gate failed: capacity of " in text and "at least 90,000 req/s" in text
    assert complaint.endswith("error: 1 of 1 gate failed\n")


def test_a_file_that_cannot_be_written_costs_no_result(say: RunCommand, finished: str) -> None:
    (Path(finished).parent / "file").write_text("")
    wrong = Path(finished).parent / "file" / "gate.xml"
    gate = ("--gate", "capacity >= 1", "--junit", str(wrong))
    code, text, complaint = say("run", "--shared-ok", "--resume", finished, *gate)
    assert code != 0 and str(wrong.parent) in complaint and "Traceback" not in complaint
    assert "report: " in text and "gate passed: " in text


def test_a_limit_inside_the_interval_fails_nothing(say: RunCommand, finished: str) -> None:
    resume = ("run", "--shared-ok", "--json", "--resume", finished)
    (gate,) = json.loads(say(*resume, "--gate", "capacity >= 1")[1])["gates"]
    code, text, _ = say(*resume, "--gate", f"capacity >= {gate['value']:.1f}")
    assert code == 0
    assert json.loads(text)["gates"][0]["answer"] == "cannot tell"
    code, _, complaint = say(*resume, "--gate", f"capacity >= {gate['value']:.1f}", "--fail-undecided")
    assert code == 6 and "error: 1 of 1 gate cannot tell" in complaint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gate", "capacity"), "--gate 'capacity': expected 'capacity >= 1200'"),
        (("--gate", "capacity >= 10"), "--gate needs a study that searches the capacity"),
        (("--junit", "gate.xml"), "--junit, --markdown and --fail-undecided are about gates"),
    ],
)
def test_what_no_gate_can_judge_is_refused_before_the_run(
    say: RunCommand, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "fixed.yaml").write_text(FIXED)
    code, text, complaint = say("run", "--shared-ok", "fixed.yaml", *options)
    assert (code, text) == (2, "")
    assert message in complaint
