"""Where output cannot go: places that are closed, readers that have ended, signs that a terminal lacks."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.cli.conftest import RunCommand
from tests.support.users import LOADSTONE

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies" / "first-light.yaml"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("render", "hotel-reservation", "--orchestrator", "swarm", "-o", "taken/below"), "taken"),
        (("load", "http://127.0.0.1:1/", "--rate", "5", "--out", "taken"), "taken"),
        (("init", "http://127.0.0.1:1/", "-o", "taken/study.yaml"), "taken"),
        (("run", STUDY, "--shared-ok", "--results", "taken"), "taken"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_place_that_is_no_folder_is_wrong_input(
    say: RunCommand, tmp_path: Path, arguments: tuple[object, ...], named: str
) -> None:
    (tmp_path / "taken").write_text("mine")
    code, _, complaint = say(*arguments)
    assert code == 2, complaint
    assert f"cannot write {named}" in complaint and "choose another place" in complaint
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize(("written", "why"), [('{"a": 1', "Expecting"), ("null", "it holds no object")])
def test_a_damaged_plan_is_named(say: RunCommand, tmp_path: Path, written: str, why: str) -> None:
    (tmp_path / "plan.json").write_text(written)
    code, _, complaint = say("status", tmp_path)
    assert code == 2
    assert f"plan.json cannot be read: {why}" in complaint and "to go on, start a new run" in complaint


def shell(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of a script, in which $loadstone is the program."""
    known = os.environ | {"loadstone": str(LOADSTONE), "study": str(STUDY)} | environment
    return subprocess.run(["bash", "-c", script], env=known, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("verb", ["plan", "plan --json", "validate"])
def test_the_exit_code_is_that_of_the_command_although_its_reader_has_ended(verb: str) -> None:
    ended = shell(f'"$loadstone" {verb} "$study" | true; exit ${{PIPESTATUS[0]}}')
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--help"], 0), (["run", "--help"], 0), ([], 2), (["nothing"], 2), (["validate"], 2)]
)
def test_help_and_errors_of_usage_keep_their_exit_code_where_their_reader_has_ended(
    arguments: list[str], code: int
) -> None:
    reading, writing = os.pipe()
    os.close(reading)  # before anything is written: whether it fails is no matter of time
    ended = subprocess.run([LOADSTONE, *arguments], stdout=writing, stderr=writing, check=False)
    os.close(writing)
    assert ended.returncode == code


@pytest.mark.parametrize(("study", "code"), [("$study", 0), ("nothing.yaml", 2)])
def test_the_exit_code_is_that_of_the_command_although_its_errors_are_closed(study: str, code: int) -> None:
    assert shell(f'"$loadstone" validate "{study}" 2>&-').returncode == code


def test_signs_that_the_terminal_lacks_are_replaced(tmp_path: Path) -> None:
    release = max((ROOT / "tests" / "fixtures").glob("release-*.tar.xz"))
    with tarfile.open(release) as archive:
        archive.extractall(tmp_path, filter="data")
    (run,) = tmp_path.iterdir()
    ended = shell(f'"$loadstone" status "{run}"', PYTHONIOENCODING="utf-8")
    assert ended.returncode == 0 and not ended.stdout.isascii(), ended.stderr
    lacking = shell(f'"$loadstone" status "{run}"', PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert lacking.returncode == 0, lacking.stderr
    assert lacking.stdout.isascii() and "run by Loadstone" in lacking.stdout
