from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure.cgroup import Cgroups
from tests.infrastructure.image_files import STATIC, elf_file

Join = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def join() -> Iterator[Join]:
    """Start a shell command inside control groups; killed when the test ends."""
    started: list[subprocess.Popen[bytes]] = []

    def start(groups: Cgroups, group: str, command: str) -> subprocess.Popen[bytes]:
        joining = "".join(f"echo $$ >{file}; " for file in groups.joining(group))
        started.append(subprocess.Popen(["/bin/sh", "-ec", joining + "echo; " + command], stdout=subprocess.PIPE))
        out = started[-1].stdout
        assert out is not None and out.readline() == b"\n", "it did not join"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def group() -> str:
    """The name of a group that no one else uses."""
    return f"loadstone-test-{os.getpid()}/deployment/replica"


@pytest.fixture
def root_only() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")


def tree(root: Path, files: dict[str, str]) -> None:
    """Write files with their folders."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


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
