"""The identity of a machine: kept when it is renamed, and there where the system wrote none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadstone.infrastructure import identity, paths


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


def test_machines_that_share_a_home_folder_keep_apart_what_their_nodes_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOADSTONE_DATA", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(identity, "_FILE", tmp_path / "machine-id")
    found = []
    for known in ("0123456789abcdef0123456789abcdef\n", "fedcba9876543210fedcba9876543210\n"):
        (tmp_path / "machine-id").write_text(known)
        found.append(paths.data_root())
    assert found[0] == tmp_path / "loadstone" / "3eb1bd43", "the digits that stone has for it"
    assert found[1] != found[0]
