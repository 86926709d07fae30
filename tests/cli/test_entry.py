"""Ctrl-C before anything has begun."""

from __future__ import annotations

import signal
import sys
from types import ModuleType
from typing import Any

import pytest
from pydantic_core import SchemaValidator, core_schema

from loadstone.cli import entry, main, status
from loadstone.model.errors import Interrupted


def test_an_interruption_while_python_still_imports_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    class Importing(ModuleType):
        def __getattr__(self, name: str) -> Any:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setitem(sys.modules, "loadstone.cli.main", Importing("loadstone.cli.main"))
    try:
        with pytest.raises(SystemExit) as ended:
            entry.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 130


@pytest.mark.parametrize(
    ("raised", "reported"), [(KeyboardInterrupt(), "Aborted."), (Interrupted("interrupted by SIGINT"), "by SIGINT")]
)
def test_an_interruption_while_a_model_is_built_is_no_defect(
    raised: BaseException, reported: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Level:
        def __repr__(self) -> str:  # called by pydantic, which raises a SchemaError in place of any exception
            raise raised

    def build() -> None:
        SchemaValidator(core_schema.literal_schema([Level()]))

    monkeypatch.setattr(status, "command", build)
    assert main.run_command(["status"]) == Interrupted.exit_code
    complaint = capsys.readouterr().err
    assert reported in complaint and "defect" not in complaint
