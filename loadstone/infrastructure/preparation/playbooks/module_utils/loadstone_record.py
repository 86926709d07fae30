"""What was changed on this host, in a file that ``undo.yaml`` reads. Written before each change."""

from __future__ import annotations

import json
import os
from typing import Any

FILE = "/var/lib/loadstone/preparation.json"


def read(key: str) -> Any:
    """What is recorded under a key; None where nothing is."""
    return _all().get(key)


def write(key: str, value: Any) -> None:
    """Record a value, or with None forget it; the file vanishes with its last key."""
    record = {**_all(), key: value}
    record = {each: what for each, what in record.items() if what}
    if not record:
        if os.path.exists(FILE):
            os.unlink(FILE)
        return
    os.makedirs(os.path.dirname(FILE), exist_ok=True)
    with open(FILE + ".new", "w", encoding="utf-8") as new:
        json.dump(record, new, indent=1, sort_keys=True)
        new.flush()
        os.fsync(new.fileno())
    os.replace(FILE + ".new", FILE)


def _all() -> dict[str, Any]:
    if not os.path.exists(FILE):
        return {}
    with open(FILE, encoding="utf-8") as record:
        return dict(json.load(record))
