"""Values of which all must be known: what is made of the others alone would pass for all."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import TypeVar

_Number = TypeVar("_Number", int, float)


def all_known(values: Iterable[_Number | None]) -> list[_Number]:
    """The values; none of them where any is unknown."""
    some = list(values)
    found = [value for value in some if value is not None]
    return found if len(found) == len(some) else []


def mean_of_all(values: Iterable[float | None]) -> float | None:
    """Their mean; None where any is unknown, and of nothing at all."""
    found = all_known(values)
    return fmean(found) if found else None


def total(values: Iterable[_Number | None]) -> _Number | None:
    """Their sum; None where any is unknown, and of nothing at all."""
    found = all_known(values)
    return sum(found) if found else None
