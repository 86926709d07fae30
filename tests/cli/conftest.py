"""The command line, called as a function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from loadstone.cli.main import run_command


class RunCommand:
    """Runs a command; returns its exit code, standard output and standard error. ``before`` and ``after`` are
    arguments of every command."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], before: Sequence[str] = (), after: Sequence[str] = ()
    ) -> None:
        self._capsys, self._before, self._after = capsys, before, after

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        code = run_command([*self._before, *map(str, arguments), *self._after])
        text = self._capsys.readouterr()
        return code, text.out, text.err


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunCommand:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    return RunCommand(capsys)
