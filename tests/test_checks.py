"""scripts/test.sh says in its exit code what its last line says: tried with stand-ins for the tools it calls."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"
NEED_CLUSTERS = ("docker", "nomad", "kubernetes")
TOOL = """#!/bin/sh
case "$(basename "$0") $*" in
    {fails}) echo "stand-in fails: $*"; echo "noted: $*" >>"$LOADSTONE_TEST_FAILURES"; exit 1 ;;
esac
"""


def run_checks(folder: Path, fails: str, kind: str = "all") -> subprocess.CompletedProcess[str]:
    """Runs every check in a checkout of nothing but stand-ins; those that match the shell pattern `fails` fail."""
    (folder / "scripts").mkdir()
    (folder / "stone").mkdir()
    tools = folder / ".venv/bin"
    tools.mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "tests/test_one.py").write_text("".join(f"@pytest.mark.{name}\n" for name in NEED_CLUSTERS))
    for script in ("common.sh", "test.sh"):
        shutil.copy(SCRIPTS / script, folder / "scripts")
    stand_ins = [tools / name for name in ("ruff", "mypy", "pytest", "python", "go", "gofmt")]
    for tool in (*stand_ins, folder / "scripts/go-test.sh", folder / "scripts/go-fuzz.sh"):
        tool.write_text(TOOL.format(fails=fails))
        tool.chmod(0o755)
    return subprocess.run(
        [folder / "scripts/test.sh", kind], capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)}
    )


@pytest.mark.parametrize(("kind", "checks"), [("lint", 6), ("check", 7), ("all", 14), ("long", 3)])
def test_all_passed_is_exit_code_zero(tmp_path: Path, kind: str, checks: int) -> None:
    ran = run_checks(tmp_path, "never", kind)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"All {checks} checks passed" in ran.stdout
    assert not list(tmp_path.glob("tmp.*"))  # its own notes are gone


@pytest.mark.parametrize(
    ("fails", "named"),
    [
        ('"pytest --durations=20 -m (docker"*', "tests on Docker engines"),
        ('"pytest --durations=20 -m nomad"*', "tests on Nomad"),
        ('"pytest --durations=20 -m kubernetes"*', "tests on Kubernetes"),
        ('"pytest --durations=20 -m (servers"*', "tests with real servers"),
        ('"pytest --numprocesses"*', "pure tests"),
        ('"python -m loadstone"*', "builds of Nomad and Kubernetes"),
        ('"go-fuzz.sh "*', "go fuzzing"),
        ('"mypy "', "mypy"),
        ('"go vet ./..."', "go vet"),
    ],
)
def test_a_failed_check_is_named_and_fails_the_whole(tmp_path: Path, fails: str, named: str) -> None:
    ran = run_checks(tmp_path, fails)
    assert ran.returncode == 1
    assert f"FAILED: {named} (13 of 14 passed" in ran.stdout, ran.stdout
    assert "stand-in fails" in ran.stdout
    last = ran.stdout.rindex("noted: ")  # what failed is shown again at the end, where a long output is read first
    assert last > ran.stdout.rindex("\n-- ")


TESTS = """
import pytest

@pytest.fixture
def broken():
    yield
    assert {"worker": "left"} == {}

def test_passes(): pass
def test_fails(): assert 1 + 1 == 3
def test_leaves(broken): pass
"""


def test_failed_tests_are_noted_with_how_they_ended(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_terminal_summary\n")
    (tmp_path / "test_three.py").write_text(TESTS)
    notes = tmp_path / "notes"
    command = f"{sys.executable} -m pytest -q -c /dev/null --rootdir {tmp_path} {tmp_path}".split()
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS.parent), "LOADSTONE_TEST_FAILURES": str(notes)}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    failed, left = notes.read_text().split("test_three.py::")[1:]
    assert failed.startswith("test_fails (call)\n") and "assert (1 + 1) == 3" in failed
    assert left.startswith("test_leaves (teardown)\n") and "{'worker': 'left'} == {}" in left


def test_what_is_no_kind_of_checks_is_reported(tmp_path: Path) -> None:
    ran = run_checks(tmp_path, "never", "everything")
    assert ran.returncode == 2
    assert "lint | check | all | long" in ran.stderr
