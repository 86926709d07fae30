"""Where files of a compose project may lie, besides its own folder."""

from __future__ import annotations

import os
from pathlib import Path

ALLOWED = "LOADSTONE_ALLOW_PATH"
"""The variable with more folders, as PATH lists them; ``loadstone --allow-path`` sets it."""


def is_allowed(file: Path, folder: Path) -> bool:
    """Whether a file, links followed, is below ``folder`` or one of those that the user allows."""
    more = (Path(path) for path in os.environ.get(ALLOWED, "").split(os.pathsep) if path)
    return any(file.resolve().is_relative_to(allowed.resolve()) for allowed in (folder, *more))
