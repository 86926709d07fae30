"""Ctrl-C, SIGTERM and SIGHUP end a run in order: what was started is removed, finished trials stay."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from loadstone.model.errors import Interrupted

_FORCED = (signal.SIGINT, signal.SIGTERM)
"""Sent again, they end the process while it still removes what it started. A terminal's end may follow a Ctrl-C."""
_SIGNALS = (*_FORCED, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within this block the first of the signals raises Interrupted, and the second SIGINT or SIGTERM ends the process.

    The removal that follows the first may have to wait for a machine or an engine that does not answer. A run that was
    started by ``nohup`` goes on when its terminal is closed.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in taken:
            signal.signal(each, end_at_once if each in _FORCED else signal.SIG_IGN)
        raise Interrupted(f"interrupted by {signal.Signals(number).name}; removing what was started")

    def end_at_once(number: int, frame: FrameType | None) -> None:
        text = f"\nended by a second {signal.Signals(number).name}; remove what is left with: loadstone down\n"
        with contextlib.suppress(OSError, ValueError):  # a closed terminal or pipe
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
        os._exit(Interrupted.exit_code)  # instruments are killed by the kernel, nodes end with their channels

    taken = [each for each in _SIGNALS if (each, signal.getsignal(each)) != (signal.SIGHUP, signal.SIG_IGN)]
    before = {number: signal.signal(number, interrupt) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
