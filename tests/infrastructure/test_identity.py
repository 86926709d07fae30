"""The identity of a machine: kept when it is renamed, and there where the system wrote none."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.infrastructure import identity


def test_a_machine_keeps_it_when_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "machine-id"
    monkeypatch.setattr(identity, "_FILE", file)
    found = []
    for name, known in (("a", "1f6d\n"), ("b", "1f6d\n"), ("b", "2a48\n"), ("a", ""), ("b", "")):
        monkeypatch.setattr(identity.socket, "gethostname", lambda name=name: name)
        file.write_text(known)
        found.append(identity.machine_id())
    renamed, same, other, nameless, another = found
    assert renamed == same and len({same, other, nameless, another}) == 4
    file.unlink()
    assert identity.machine_id() == another, "no file is one without an identity"
    assert all(len(each) == 8 and int(each, 16) >= 0 for each in found)
