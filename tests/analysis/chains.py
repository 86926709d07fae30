"""The hidden chain of a machine's states, for tests."""

from __future__ import annotations

from loadstone.analysis.episodes import BEGINS, ENDS, FACTORS


def chance(before: int | None, after: int) -> float:
    """The probability of a state, given the one of the trial before."""
    begins = BEGINS / (len(FACTORS) - 1)
    if before is None or before == 0:
        return 1 - BEGINS if after == 0 else begins
    return ENDS if after == 0 else (1 - ENDS) * (after == before)
