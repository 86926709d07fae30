"""Texts that are too long for a figure, shortened so that each stays another one; tables have them whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

GAP = "…"
FEWEST = 8
"""Letters to which a text is shortened at most."""
_BETWEEN = re.compile(r"( · |, |\n)")
"""Between the parts of a treatment's name."""


def fitted(texts: Sequence[str], fits: Callable[[str], bool]) -> list[str]:
    """The texts, if not all fit with as many letters as do."""
    if all(map(fits, texts)):
        return list(texts)
    low, high = FEWEST, max(map(len, texts))
    while low < high:
        most = (low + high + 1) // 2
        low, high = (most, high) if all(map(fits, distinct(texts, most))) else (low, most - 1)
    return distinct(texts, low)


def distinct(texts: Sequence[str], most: int) -> list[str]:
    """The texts with about ``most`` letters each: equal ones stay equal, others different.

    Of texts with the same number of parts (``swarm · vertical``) each part is shortened beside those in its place. What
    a text has in common with all others goes first, then its middle.
    """
    every = list(dict.fromkeys(texts))
    long = [text for text in every if len(text) > most]
    found = dict(zip(every, every, strict=True)) | dict(zip(long, _shorter(long, most), strict=True))
    names = dict(zip(every, _numbered(found.values()), strict=True))
    return [names[text] for text in texts]


def _shorter(texts: Sequence[str], most: int) -> list[str]:
    parts = [_BETWEEN.split(text) for text in texts]
    columns = [list(column) for column in zip(*parts, strict=True)] if len(set(map(len, parts))) == 1 else []
    rooms = _rooms([max(map(len, column)) for column in columns], most)
    wide = all(room >= min(FEWEST, max(map(len, column))) for room, column in zip(rooms, columns, strict=True))
    if len(columns) > 1 and wide:
        columns = [_alone(column, room) for column, room in zip(columns, rooms, strict=True)]
        return ["".join(row) for row in zip(*columns, strict=True)]
    return _alone(texts, most)


def _rooms(widths: Sequence[int], most: int) -> list[int]:
    """How many letters each part may have: what is short leaves its room to the others; separators stay whole."""
    rooms, left = list(widths), most - sum(widths[1::2])
    places = sorted(range(0, len(widths), 2), key=lambda place: widths[place])
    for count, place in zip(range(len(places), 0, -1), places, strict=True):
        rooms[place] = min(widths[place], max(0, left) // count)
        left -= rooms[place]
    return rooms


def _alone(texts: Sequence[str], most: int) -> list[str]:
    """By what differs, with as much around it as there is room for."""
    several = len(set(texts)) > 1
    start = _common(texts) if several else 0
    end = _common([text[start:][::-1] for text in texts]) if several else 0
    return [_around(text, start, len(text) - end, most) for text in texts]


def _common(texts: Sequence[str]) -> int:
    """How many letters all begin with."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False)))


def _around(text: str, start: int, stop: int, most: int) -> str:
    """The text from ``start`` to ``stop`` and its neighbourhood; without its middle where this is too long."""
    if len(text) <= most:
        return text
    room = most - 2 * len(GAP) - (stop - start)
    if room < 0:
        before, after = GAP * (start > 0), GAP * (stop < len(text))
        kept = most - len(before) - len(GAP) - len(after)
        own, head = text[start:stop], kept - kept // 2
        return f"{before}{own[:head]}{GAP}{own[len(own) - kept // 2 :]}{after}"
    first, shown = start - room // 2, most - len(GAP)
    if first <= len(GAP):
        return text[:shown] + GAP
    if first + shown >= len(text):
        return GAP + text[len(text) - shown :]
    return GAP + text[first : first + shown - len(GAP)] + GAP


def _numbered(texts: Iterable[str]) -> list[str]:
    """What is equal all the same has a number."""
    found: list[str] = []
    for text in texts:
        number, name = 1, text
        while name in found:
            number += 1
            name = f"{text} ({number})"
        found.append(name)
    return found
