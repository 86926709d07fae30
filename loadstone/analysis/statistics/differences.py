"""The tests of a difference: sign-flip and paired t over pairs, permutation and Welch over runs, and Holm's correction.

Sources: the sign-flip and permutation tests are Fisher's (The Design of Experiments, 1935), exact by enumeration of
all assignments that could have been drawn; Welch, "The generalization of Student's problem when several different
population variances are involved" (Biometrika 34, 1947); Holm, "A simple sequentially rejective multiple test
procedure" (Scandinavian Journal of Statistics 6, 1979); the two one-sided tests of equivalence are Schuirmann's
(Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtr, stdtrit

from loadstone.analysis.statistics.effect import Floats, Method

ENUMERATED = 20
"""Values up to which all sign flips or all assignments are enumerated: at most a million."""
DRAWS = 99_999
"""Of the Monte Carlo above: its p is within 0.14 points of the exact one at 5 %, in 95 % of cases."""
SEED = 20_250_101
_ROUNDING = 1e-12
"""Sums that differ relatively by less are the same sum, added in another order."""


@dataclass(frozen=True)
class TestedDifference:
    """Of mean logarithms, B - A, with what is known of its error; no verdict yet."""

    method: Method
    runs: int
    value: float
    error: float
    """The standard error; not a number for a single run."""
    freedom: float
    """Degrees of freedom of the error."""
    sd: float
    p: float
    p_t: float

    def interval(self, alpha: float) -> tuple[float, float]:
        """Of the difference, by Student's t; infinite where there is no error to judge by."""
        if not self.error >= 0:
            return -np.inf, np.inf
        reach = float(stdtrit(self.freedom, 1 - alpha / 2)) * float(self.error)
        return self.value - reach, self.value + reach

    def p_equal(self, margin: float) -> float:
        """p of the two one-sided tests against a difference of ``margin`` either way."""
        return _upper_tail(margin - abs(self.value), self.error, self.freedom)


def paired(a: Floats, b: Floats) -> TestedDifference:
    """Logarithms of B's values against A's, block by block."""
    differences = b - a
    runs, value = len(differences), float(differences.mean())
    sd = float(differences.std(ddof=1)) if runs > 1 else np.nan
    error, freedom = sd / float(np.sqrt(runs)), runs - 1.0
    p_t = min(1.0, 2 * _upper_tail(abs(value), error, freedom))
    return TestedDifference("paired", runs, value, error, freedom, sd, sign_flip(differences), p_t)


def unpaired(a: Floats, b: Floats) -> TestedDifference:
    """Logarithms of B's runs against A's, in no common order."""
    value = float(b.mean() - a.mean())
    error = freedom = sd = np.nan
    if min(len(a), len(b)) > 1:
        of_a, of_b = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
        error = float(np.sqrt(of_a + of_b))
        squares = of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1)
        freedom = (of_a + of_b) ** 2 / squares if squares else len(a) + len(b) - 2.0
        sd = float(np.sqrt((a.var() * len(a) + b.var() * len(b)) / (len(a) + len(b) - 2)))
    p_t = min(1.0, 2 * _upper_tail(abs(value), error, freedom))
    return TestedDifference("unpaired", min(len(a), len(b)), value, error, freedom, sd, permutation(a, b), p_t)


def sign_flip(differences: Floats) -> float:
    """Two-sided p of a mean difference of zero, over all ways in which each pair could have been labelled."""
    slack = _ROUNDING * float(np.abs(differences).sum())
    seen = abs(float(differences.sum())) - slack
    if len(differences) <= ENUMERATED:
        # The first sign is fixed: flipping all of them changes no absolute sum.
        sums = differences[:1]
        for difference in differences[1:]:
            sums = np.concatenate((sums + difference, sums - difference))
        return float(np.mean(np.abs(sums) >= seen))
    return _monte_carlo(np.abs(differences @ _signs(len(differences))) >= seen)


@lru_cache(maxsize=2)
def _signs(pairs: int) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    """The signs of each pair in all draws; the endpoints of a comparison have equally many pairs."""
    drawn = np.random.default_rng(SEED).integers(0, 2, (DRAWS, pairs), dtype=np.int8) * 2 - 1
    return np.ascontiguousarray(drawn.T)


def permutation(a: Floats, b: Floats) -> float:
    """Two-sided p of equal means, over all ways in which the runs could have been split between A and B."""
    together = np.concatenate((a, b))
    together = together - together.mean()
    # Centred, the two means are opposite and in fixed proportion: the sum of one side is sufficient.
    slack = _ROUNDING * float(np.abs(together).sum())
    seen = abs(float(together[: len(a)].sum())) - slack
    if len(together) <= ENUMERATED:
        sums, chosen = np.zeros(1), np.zeros(1, np.int8)
        for value in together:
            sums, chosen = np.concatenate((sums, sums + value)), np.concatenate((chosen, chosen + np.int8(1)))
        return float(np.mean(np.abs(sums[chosen == len(a)]) >= seen))
    rng = np.random.default_rng(SEED)
    shuffled = rng.permuted(np.broadcast_to(together, (DRAWS, len(together))), axis=1)
    return _monte_carlo(np.abs(shuffled[:, : len(a)].sum(axis=1)) >= seen)


def holm(p: Sequence[float]) -> list[float]:
    """The p-values, adjusted for their number, in their order."""
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return adjusted


def _monte_carlo(as_extreme: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    """What was seen is one of the draws: so p is never 0, and the test keeps its level."""
    return float(as_extreme.sum() + 1) / (len(as_extreme) + 1)


def _upper_tail(value: float, error: float, freedom: float) -> float:
    """P(T > value / error); without any spread, certain; without any error known, nothing is."""
    if not error >= 0:
        return 1.0
    if error == 0:
        return 0.5 if value == 0 else float(value < 0)
    return float(stdtr(freedom, -value / error))
