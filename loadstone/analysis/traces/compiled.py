"""Functions compiled to machine code by Numba, and their work spread over the processors by ranges of traces."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import update_wrapper
from itertools import pairwise
from threading import Lock
from typing import Any

Kernel = Callable[..., Any]
_PIECES = 8
"""Ranges for each processor: traces differ in length, so no processor should wait long for the last."""
_compiling = Lock()


def kernel(function: Kernel) -> Kernel:
    """Compile at the first call; without the interpreter's lock, so that threads really run at the same time.

    The machine code is kept in the package's ``__pycache__``, else in the user's cache (or ``NUMBA_CACHE_DIR``), and
    where nothing can be written it is made anew by each process. Numba notices changes of the function's own file
    alone, so a kernel calls only kernels of its file. Numba itself is imported then, too, which takes a second: many
    files have kernels that a run of a study does not call.
    """
    return _Kernel(function)


class _Kernel:
    """A kernel whose compilation waits for its first call."""

    def __init__(self, function: Kernel) -> None:
        self._function = function
        self._compiled: Kernel | None = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self._compile())(*arguments)

    def _compile(self) -> Kernel:
        """Numba knows only kernels of its own, so those of the file, which this one may call, take their places.

        None is called before all have: another thread would compile it with one that Numba does not know.
        """
        names = self._function.__globals__
        with _compiling:
            if self._compiled is not None:
                return self._compiled
            own = {name: each for name, each in list(names.items()) if _is_of(each, names)}
            compiled = {each: _numba(each._function) for each in (self, *own.values())}
            names.update({name: compiled[each] for name, each in own.items()})
            for each, known in compiled.items():
                each._compiled = known
            return compiled[self]


def _is_of(value: object, names: dict[str, Any]) -> bool:
    """Whether it is a kernel of the file that has these names; imported ones are called through their own file."""
    return isinstance(value, _Kernel) and value._function.__globals__ is names


def _numba(function: Kernel) -> Kernel:
    import numba

    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder for the cache
        return numba.njit(nogil=True)(function)


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
