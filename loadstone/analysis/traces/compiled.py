"""Functions compiled to machine code by Numba, and their work spread over the processors by ranges of traces."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numba

Kernel = Callable[..., Any]
_PIECES = 8
"""Ranges for each processor: traces differ in length, so no processor should wait long for the last."""


def kernel(function: Kernel) -> Kernel:
    """Compile at the first call; without the interpreter's lock, so that threads really run at the same time.

    The machine code is kept in the package's ``__pycache__``, else in the user's cache (or ``NUMBA_CACHE_DIR``), and
    where nothing can be written it is made anew by each process. Numba notices changes of the function's own file
    alone, so a kernel calls only kernels of its file.
    """
    try:
        compiled: Kernel = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder for the cache
        compiled = numba.njit(nogil=True)(function)
    return compiled


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def over(work: Callable[[int, int], Any], count: int) -> list[Any]:
    """``work(low, high)`` for ranges that together are 0 to ``count``, on all processors; results in their order."""
    threads = processors()
    edges = [count * i // (threads * _PIECES) for i in range(threads * _PIECES + 1)]
    ranges = [(low, high) for low, high in pairwise(edges) if high > low]
    if threads == 1 or len(ranges) < 2:
        return [work(low, high) for low, high in ranges]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda pair: work(*pair), ranges))
