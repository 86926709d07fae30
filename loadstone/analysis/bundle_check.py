"""Is an unpacked bundle still what was exported? Its ``ro-crate-metadata.json`` has the digest of every file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from loadstone.model.base import abridged

METADATA = "ro-crate-metadata.json"
DERIVED = ("report/", "README.md")
"""What ``loadstone report`` and ``export`` make anew."""
_MOST_NAMED = 5


def digest(file: Path) -> str:
    """SHA-256 in hexadecimal digits."""
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def warnings(folder: Path) -> list[str]:
    """Files that are missing or were changed since the run was exported; empty for a folder that is no bundle."""
    try:
        metadata = json.loads((folder / METADATA).read_text(encoding="utf-8"))
        files = {unquote(entity["@id"]): entity for entity in metadata["@graph"] if entity.get("@type") == "File"}
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return [f"{METADATA} cannot be read, so changes since the export cannot be found: {error}"]
    wrong = list(_wrong(folder, files))
    if not wrong:
        return []
    return [f"not as it was exported: {abridged(wrong, _MOST_NAMED)}"]


def _wrong(folder: Path, files: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, entity in files.items():
        if name.startswith(DERIVED) or name.endswith("/traces.json"):
            continue
        file = folder / name
        if not file.is_file():
            yield f"{name} is missing"
        elif str(file.stat().st_size) != entity.get("contentSize") or digest(file) != entity.get("sha256"):
            yield f"{name} was changed"
