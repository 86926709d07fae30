from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.image_files import STATIC, elf_file


@pytest.fixture
def stone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A static program that stands for the ``stone`` binary, and a cache of its own."""
    binary = tmp_path / "bin" / "stone"
    binary.parent.mkdir()
    binary.write_bytes(elf_file(STATIC, after=b"first"))
    binary.chmod(0o700)
    monkeypatch.setenv("LOADSTONE_STONE", str(binary))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return binary
