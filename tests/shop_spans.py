"""The spans of one order, as the shop's services made them: ``stone/apps/shop/testdata/order.txt``, which a Go test
compares with real ones."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

_FILE = Path(__file__).parents[1] / "stone" / "apps" / "shop" / "testdata" / "order.txt"


def made() -> list[tuple[str, str]]:
    """Service and operation of each span of a server and of each task."""
    return re.findall(r"^ *(\S+) (?:serves|does) (.+)$", _FILE.read_text(encoding="utf-8"), re.MULTILINE)


def tree(service: str) -> list[str]:
    """The first span that a service serves and those below it, a line each, indented below their parents."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    first = next(at for at, line in enumerate(lines) if line.lstrip().startswith(f"{service} serves "))
    indent = len(lines[first]) - len(lines[first].lstrip())
    below = itertools.takewhile(lambda line: line.startswith(" " * (indent + 1)), lines[first + 1 :])
    return [line[indent:] for line in (lines[first], *below)]
