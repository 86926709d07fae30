"""scripts/test.sh says in its exit code what its last line says: tried with stand-ins for the tools it calls."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"
TOOL = """#!/bin/sh
case "$(basename "$0") $*" in
    {fails}) echo "stand-in fails: $*"; exit 1 ;;
esac
"""


def run_checks(folder: Path, fails: str) -> subprocess.CompletedProcess[str]:
    """Runs every check in a checkout of nothing but stand-ins; those that match the shell pattern `fails` fail."""
    (folder / "scripts").mkdir()
    (folder / "stone").mkdir()
    tools = folder / ".venv/bin"
    tools.mkdir(parents=True)
    for script in ("common.sh", "test.sh"):
        shutil.copy(SCRIPTS / script, folder / "scripts")
    for name in ("ruff", "mypy", "pytest", "go", "gofmt"):
        (tools / name).write_text(TOOL.format(fails=fails))
        (tools / name).chmod(0o755)
    return subprocess.run(
        [folder / "scripts/test.sh"], capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)}
    )


def test_all_passed_is_exit_code_zero(tmp_path: Path) -> None:
    ran = run_checks(tmp_path, fails="never")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "All 10 checks passed" in ran.stdout
    assert not list(tmp_path.glob("tmp.*"))  # its own notes are gone


@pytest.mark.parametrize(
    ("fails", "named"),
    [
        ('"pytest -m clusters or docker"', "tests on clusters"),
        ('"pytest -m not"*', "pytest"),
        ('"mypy "', "mypy"),
        ('"go vet ./..."', "go vet"),
    ],
)
def test_a_failed_check_is_named_and_fails_the_whole(tmp_path: Path, fails: str, named: str) -> None:
    ran = run_checks(tmp_path, fails)
    assert ran.returncode == 1
    assert f"FAILED: {named} (9 of 10 passed" in ran.stdout, ran.stdout
    assert "stand-in fails" in ran.stdout
