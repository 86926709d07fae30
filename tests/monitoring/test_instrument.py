from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.errors import DeploymentError
from loadstone.monitoring.instrument import Instrument, InstrumentError


def stone(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``stone`` that does what ``script`` says."""
    file = folder / "stone"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(file))


def test_it_says_where_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "echo listening on 127.0.0.1:1 '(gRPC)'; echo listening on 127.0.0.1:9; exec cat"
    stone(tmp_path, said, monkeypatch)
    instrument = Instrument(["agent"], (), lines=2)
    try:
        assert instrument.addresses == ["127.0.0.1:1", "127.0.0.1:9"]
        with pytest.raises(InstrumentError, match=r"http://127.0.0.1:9/healthz does not answer"):
            instrument.ask("GET", "/healthz")
    finally:
        instrument.stop()
        instrument.stop()


def test_one_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stone(tmp_path, "echo stone agent: no /proc here >&2; exit 3", monkeypatch)
    with pytest.raises(DeploymentError, match="stone agent did not start: stone agent: no /proc here"):
        Instrument(["agent"], ())
