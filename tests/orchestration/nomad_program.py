"""The real Nomad as a reader of job files; nothing of a server is needed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from loadstone.infrastructure import builds


def nomad(*arguments: str, folder: Path) -> str:
    """What it prints; skips where it is not there."""
    if (finding := builds.missing("nomad")).level != "ok":
        pytest.skip(finding.message)
    done = subprocess.run(
        [builds.binary("nomad", print), *arguments],
        cwd=folder,
        env={"NOMAD_ADDR": "http://127.0.0.1:1", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
