"""Where the ``stone`` binary is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from loadstone.model.errors import PreflightError


def stone_binary() -> Path:
    """``$LOADSTONE_STONE``, else ``.build/stone`` of a checkout, else ``stone`` on the PATH."""
    given = os.environ.get("LOADSTONE_STONE")
    built = Path(__file__).resolve().parents[2] / ".build" / "stone"
    found = given or (str(built) if built.exists() else shutil.which("stone"))
    if not found or not os.access(found, os.X_OK):
        where = f"LOADSTONE_STONE={given}" if given else "neither .build/stone nor `stone` on the PATH"
        raise PreflightError(f"the stone binary is missing: {where}", "build it with `make setup`")
    return Path(found).resolve()


def stone_version() -> str:
    """What ``stone version`` prints."""
    result = subprocess.run([stone_binary(), "version"], capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"
