"""The spans of one order, as the shop's services made them: ``stone/apps/shop/testdata/order.txt``, which a Go test
compares with real ones."""

from __future__ import annotations

import re
from pathlib import Path

_FILE = Path(__file__).parents[1] / "stone" / "apps" / "shop" / "testdata" / "order.txt"


def made() -> list[tuple[str, str]]:
    """Service and operation of each span of a server and of each task."""
    return re.findall(r"^ *(\S+) (?:serves|does) (.+)$", _FILE.read_text(encoding="utf-8"), re.MULTILINE)
