"""The p-values that the fifth study took from SciPy, by statistic and sizes: for its figures, never for a decision.

Sources: ``scipy.stats.anderson_ksamp``, which interpolates the critical values of Scholz and Stephens, "K-sample
Anderson-Darling tests" (JASA 82, 1987), table 1, and caps p to 0.001..0.25; ``ks_2samp`` with ``method="asymp"``.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

SMALLEST, LARGEST = 0.001, 0.25
"""The ends of the range in which an Anderson-Darling p-value is reported."""
_LEVELS = (0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001)
_CRITICAL = (0.325, 1.226, 1.961, 2.718, 3.752, 4.592, 6.546)
"""Critical values of the standardised statistic of two samples, at these levels."""
_LOG_P = np.polyfit(_CRITICAL, [log(level) for level in _LEVELS], 2)


def anderson_darling(statistic: float) -> float:
    """The Anderson-Darling p-value of two samples, from their standardised statistic."""
    if statistic < _CRITICAL[0]:
        return LARGEST
    return SMALLEST if statistic > _CRITICAL[-1] else exp(float(np.polyval(_LOG_P, statistic)))


def kolmogorov_smirnov(statistic: float, n: int, m: int) -> float:
    """The Kolmogorov-Smirnov p-value of two samples of these sizes."""
    from scipy.stats import kstwo  # takes a second, which only these figures have to wait for

    return float(kstwo.sf(statistic, np.round(n * m / (n + m))))
