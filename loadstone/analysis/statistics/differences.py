"""A difference with its tests: by relabelling, by paired t or Welch; and Holm's correction for several.

Sources: those of the tests by relabelling are in ``relabelling``; Welch, "The generalization of Student's problem when
several different population variances are involved" (Biometrika 34, 1947); Holm, "A simple sequentially rejective
multiple test procedure" (Scandinavian Journal of Statistics 6, 1979); the two one-sided tests of equivalence are
Schuirmann's (Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from loadstone.analysis.statistics.effect import ALPHA, Floats, Method
from loadstone.analysis.statistics.relabelling import Relabelled, permutation, sign_flip


@dataclass(frozen=True)
class TestedDifference:
    """A difference of mean logarithms, B - A, with what is known of its error; no verdict yet."""

    method: Method
    runs: int
    value: float
    error: float
    """The standard error; not a number for a single run."""
    freedom: float
    """Degrees of freedom of the error."""
    sd: float
    p: float
    low: float
    """The lower end of the interval of the difference, which leaves out zero exactly where ``p`` is at most alpha. For
    so few runs that no p can be, by Student's t; infinite where there is no error to judge by either."""
    high: float
    p_t: float

    def p_equal(self, margin: float) -> float:
        """p of the two one-sided tests against a difference of ``margin`` either way."""
        return _upper_tail(margin - abs(self.value), self.error, self.freedom)


def paired(a: Floats, b: Floats, alpha: float = ALPHA) -> TestedDifference:
    """Logarithms of B's values against A's, block by block; its interval is at 1 - ``alpha``."""
    differences = b - a
    runs, value = len(differences), float(differences.mean())
    sd = float(differences.std(ddof=1)) if runs > 1 else np.nan
    error, freedom = sd / float(np.sqrt(runs)), runs - 1.0
    return _tested("paired", runs, value, error, freedom, sd, sign_flip(differences, alpha), alpha)


def unpaired(a: Floats, b: Floats, alpha: float = ALPHA) -> TestedDifference:
    """Logarithms of B's runs against A's, in no common order; its interval is at 1 - ``alpha``."""
    value = float(b.mean() - a.mean())
    error = freedom = sd = np.nan
    if min(len(a), len(b)) > 1:
        of_a, of_b = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
        error = float(np.sqrt(of_a + of_b))
        squares = of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1)
        freedom = (of_a + of_b) ** 2 / squares if squares else len(a) + len(b) - 2.0
        sd = float(np.sqrt((a.var() * len(a) + b.var() * len(b)) / (len(a) + len(b) - 2)))
    return _tested("unpaired", min(len(a), len(b)), value, error, freedom, sd, permutation(a, b, alpha), alpha)


def _tested(
    method: Method, runs: int, value: float, error: float, freedom: float, sd: float, found: Relabelled, alpha: float
) -> TestedDifference:
    p_t = min(1.0, 2 * _upper_tail(abs(value), error, freedom))
    low, high = found.low, found.high
    if not np.isfinite(low) and error >= 0:
        reach = float(stdtrit(freedom, 1 - alpha / 2)) * error
        low, high = value - reach, value + reach
    return TestedDifference(method, runs, value, error, freedom, sd, found.p, low, high, p_t)


def holm(p: Sequence[float]) -> list[float]:
    """The p-values, adjusted for their number, in their order."""
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return adjusted


def _upper_tail(value: float, error: float, freedom: float) -> float:
    """P(T > value / error); without any spread, certain; without any error known, nothing is."""
    if not error >= 0:
        return 1.0
    if error == 0:
        return 0.5 if value == 0 else float(value < 0)
    return float(stdtr(freedom, -value / error))
