"""Reads the tables of wrong files: `== NAME`, the file, `--`, the exact messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A wrong file and its expected errors."""

    name: str
    text: str
    messages: list[str]


def table(name: str) -> Path:
    """The path of a table beside this file."""
    return Path(__file__).with_name(name)


def cases(table: Path) -> list[Case]:
    """The cases of a table, in order."""
    blocks = re.split(r"^== ", table.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = []
    for block in blocks:
        name, rest = block.split("\n", 1)
        text, _, messages = rest.partition("\n--\n")
        found.append(Case(name, text + "\n", messages.strip().splitlines()))
    return found
