"""Four distances between two distributions in one pass over both: KS, Anderson-Darling, Cramer-von Mises, Wasserstein.

A sample is its distinct values, ascending, with their counts, so a histogram is a sample as it is. The definitions are
SciPy's (``ks_2samp``, ``anderson_ksamp`` with mid-ranks, ``cramervonmises_2samp``, ``wasserstein_distance``), ties
included, and agree with it to rounding; what is new is that one merge of sorted values serves all four.

Sources: Scholz and Stephens, "K-sample Anderson-Darling tests" (JASA 82, 1987), equations 6 and 7 for ties; Anderson,
"On the distribution of the two-sample Cramer-von Mises criterion" (Annals of Mathematical Statistics 33, 1962).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from loadstone.analysis.statistics.effect import Floats, Ints
from loadstone.analysis.traces.compiled import kernel, over

KS, AD, CVM, WASSERSTEIN = range(4)
"""The columns of what ``distances`` returns."""


@dataclass(frozen=True)
class Sample:
    """Distinct values, ascending, and how often each was seen (at least once)."""

    values: Floats
    counts: Ints

    @property
    def size(self) -> int:
        return int(self.counts.sum())


def sample(values: ArrayLike, counts: ArrayLike | None = None) -> Sample:
    """From values in any order, with how often each was seen if they are a histogram's (values may repeat).

    Raises ValueError without any observation, and for values that are not finite or counts that are negative.
    """
    seen = np.asarray(values, np.float64).ravel()
    if not np.isfinite(seen).all():
        raise ValueError("the sample holds a value that is not a finite number")
    if counts is None:
        distinct, often = np.unique(seen, return_counts=True)
        totals = often.astype(np.int64)
    else:
        weight = np.asarray(counts, np.int64).ravel()
        if (weight < 0).any():
            raise ValueError("the histogram holds a negative count")
        distinct, place = np.unique(seen[weight > 0], return_inverse=True)
        totals = np.zeros(len(distinct), np.int64)
        np.add.at(totals, place, weight[weight > 0])
    if not len(distinct):
        raise ValueError("the sample is empty")
    return Sample(distinct, totals)


def pool(samples: Sequence[Sample]) -> Sample:
    """All of them as one."""
    return sample(np.concatenate([each.values for each in samples]), np.concatenate([each.counts for each in samples]))


def distances(samples: Sequence[Sample], pairs: Sequence[tuple[int, int]]) -> Floats:
    """One row a pair of indices into ``samples``: KS, AD, CvM and Wasserstein, on all processors.

    AD is the standardised statistic (mean 0, variance 1 where both samples are of one continuous distribution), not a
    number for fewer than four observations together; Wasserstein is in the values' unit.
    """
    first = np.cumsum([0, *(len(each.values) + 1 for each in samples)])
    values = np.concatenate([part for each in samples for part in (each.values, [np.inf])])
    counts = np.concatenate([part for each in samples for part in (each.counts, [0])]).astype(np.float64)
    sizes = np.array([each.size for each in samples], np.float64)
    index = np.asarray(pairs, np.int64).reshape(-1, 2)
    found = np.empty((len(index), 4))

    def piece(low: int, high: int) -> None:
        for row in range(low, high):
            a, b = index[row]
            _merge(values, counts, first[a], first[b], sizes[a], sizes[b], found[row])

    over(piece, len(index))
    scale: dict[tuple[int, int], float] = {}
    for row, (a, b) in enumerate(index):
        key = (int(sizes[a]), int(sizes[b]))
        if key not in scale:
            scale[key] = ad_deviation(*key)
        found[row, AD] = (found[row, AD] - 1) / scale[key]
    return found


def all_pairs(count: int) -> list[tuple[int, int]]:
    """Every pair of ``count`` samples, once."""
    return [(a, b) for a in range(count) for b in range(a + 1, count)]


def ad_deviation(n: int, m: int) -> float:
    """The standard deviation of the two-sample AD statistic (Scholz and Stephens, equation 4 with k = 2)."""
    total = n + m
    if total < 4:
        return float("nan")
    sizes = 1 / n + 1 / m
    h, g = _harmonic(total)
    a = 4 * g - 6 + (10 - 6 * g) * sizes
    b = 4 * (2 * g - 4) + 16 * h + (2 * g - 14 * h - 4) * sizes - 8 * h + 4 * g - 6
    c = 4 * (6 * h + 2 * g - 2) + 2 * (4 * h - 4 * g + 6) + (2 * h - 6) * sizes + 4 * h
    d = 4 * (2 * h + 6) - 8 * h
    variance = (((a * total + b) * total + c) * total + d) / ((total - 1.0) * (total - 2) * (total - 3))
    return float(np.sqrt(variance))


@kernel
def _harmonic(total):  # type: ignore[no-untyped-def]
    """h: the sum of 1 / i below ``total``; g: of 1 / ((total - i) j) for i < j < total."""
    h, g, partial = 0.0, 0.0, 0.0
    for i in range(1, total - 1):
        partial += 1.0 / (total - i)
        g += partial / (i + 1)
    for i in range(1, total):
        h += 1.0 / i
    return h, g


@kernel
def _merge(values, counts, i, j, n, m, out):  # type: ignore[no-untyped-def]
    """Walks the sample that begins at ``i`` and that at ``j`` by ascending value, up to the infinity that ends both.

    Each distinct value gives every sum its term. Mid-ranks count half of the tied ones as below; ``apart`` is the
    difference of the two shares, times n m: exact in whole numbers, and free of divisions.
    """
    total = n + m
    below_x = below_y = apart = 0.0
    ks = ad = squares = area = last = 0.0
    while True:
        x, y = values[i], values[j]
        value = min(x, y)
        if value == np.inf:
            break
        # No branch on which comes next: it could not be predicted.
        from_x, from_y = x <= y, y <= x
        here_x, here_y = counts[i] * from_x, counts[j] * from_y
        i += from_x
        j += from_y
        area += abs(apart) * (value - last)
        last = value
        middle_x, middle_y = below_x + 0.5 * here_x, below_y + 0.5 * here_y
        below_x += here_x
        below_y += here_y
        here, middle = here_x + here_y, middle_x + middle_y
        off = m * middle_x - n * middle_y
        spread = middle * (total - middle) - 0.25 * total * here
        if spread > 0:  # else all observations are one value
            ad += here * off * off / spread
        squares += n * here_x * (middle_y * middle_y + (here_x * here_x - 1.0) / 12.0)
        squares += m * here_y * (middle_x * middle_x + (here_y * here_y - 1.0) / 12.0)
        apart = m * below_x - n * below_y
        if abs(apart) > ks:
            ks = abs(apart)
    size = n * m
    out[0] = ks / size
    out[1] = ad * (total - 1.0) / total / total * (1.0 / n + 1.0 / m)
    out[2] = squares / (size * total) - (4.0 * size - 1.0) / (6.0 * total)
    out[3] = area / size
