"""Which commit of the user's own project a study runs for: what CI systems say, else what git says of its folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_OF_CI = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION")
"""GitHub Actions, GitLab, Jenkins, Azure Pipelines."""
_WITHIN_S = 5.0


def commit_of(folder: Path) -> str | None:
    """The commit, with ``-dirty`` where files differ from it; None where there is none."""
    if named := next((os.environ[name] for name in _OF_CI if os.environ.get(name)), None):
        return named
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
