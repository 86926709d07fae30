"""The command line, called as a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.cli.main import run_command


class RunCommand:
    """Runs a command; returns its exit code, standard output and standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = run_command(list(arguments))
        text = self._capsys.readouterr()
        return code, text.out, text.err


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunCommand:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    return RunCommand(capsys)
