"""When a machine that could not be reached is tried again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from loadstone.infrastructure.machines.faults import MachineLost


class Attempts:
    """Attempts to reach a machine. After one that failed, none is made for as long as that one took: else each of
    several verbs would wait anew."""

    def __init__(self) -> None:
        self._lost = MachineLost("")
        self._again_at = 0.0

    @contextmanager
    def next(self) -> Iterator[None]:
        """Raises MachineLost as the last attempt did while it is too early for another one."""
        started = time.monotonic()
        if started < self._again_at:
            raise MachineLost(self._lost.message, self._lost.remedy)
        try:
            yield
        except MachineLost as error:
            now = time.monotonic()
            self._lost, self._again_at = error, now + (now - started)
            raise
