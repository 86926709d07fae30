"""Where the sockets of connections over SSH lie."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from loadstone.infrastructure.machines import ssh


def test_a_socket_s_path_is_short_enough_whatever_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 15)))
    folder = ssh.sockets()
    assert folder.is_dir() and len(f"{folder}/12345678-{'c' * 40}.{'r' * 16}") < 108
