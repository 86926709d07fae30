"""The same on several machines at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_MOST = 32
Subject = TypeVar("Subject")
Result = TypeVar("Result")


def in_parallel(act: Callable[[Subject], Result], on: Iterable[Subject]) -> list[Result]:
    """What ``act`` returns for each, at the same time; raises the first error once all have ended."""
    chosen = list(on)
    if len(chosen) == 1:  # in this thread, which a signal can interrupt
        return [act(chosen[0])]
    from concurrent.futures import ThreadPoolExecutor  # with logging: what only plans needs neither

    with ThreadPoolExecutor(_MOST) as pool:
        return list(pool.map(act, chosen))
