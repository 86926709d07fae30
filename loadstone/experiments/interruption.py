"""Ctrl-C, SIGTERM and SIGHUP end a run in order: what was started is removed, finished trials stay."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from loadstone.model.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within this block each of the signals raises Interrupted, once; the clean-up that follows is not disturbed."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(f"interrupted by {signal.Signals(number).name}; removing what was started")

    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
