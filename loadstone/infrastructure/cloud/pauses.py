"""Pauses between two looks at what a cloud is doing."""

from __future__ import annotations

import time

_FIRST_S = 0.25
_LONGEST_S = 2.0


class Pauses:
    """Short at first, as much is done at once; where it takes minutes, one every two seconds is enough."""

    def __init__(self) -> None:
        self._next_s = _FIRST_S

    def wait(self) -> None:
        time.sleep(self._next_s)
        self._next_s = min(2 * self._next_s, _LONGEST_S)


def wait_long() -> None:
    """The longest pause, for a cloud that has trouble."""
    time.sleep(_LONGEST_S)
