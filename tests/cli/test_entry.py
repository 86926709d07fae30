"""Ctrl-C before anything has begun."""

from __future__ import annotations

import signal
import sys
from types import ModuleType
from typing import Any

import pytest

from loadstone.cli import entry


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
