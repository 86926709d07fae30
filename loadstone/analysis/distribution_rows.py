"""The rows of chosen spans: single runs, their histograms, and distances between runs, by treatment and by level.

They stand outside of ``reproduction``, which brings a compiler along.
"""

from __future__ import annotations

from loadstone.analysis.schema import TableRow


class OfSpan(TableRow):
    """``span`` is ``service operation``, an operation, or ``all requests``; latencies are in us."""

    span: str
    rate: float
    clients: int | None
    treatment: str
    baseline: bool


class RunCurveRow(OfSpan, name="distribution_runs"):
    """A percentile of one run."""

    trial_id: str
    repetition: int
    best_fit: bool
    percentile: float
    latency_us: float


class HistogramRow(OfSpan, name="distribution_histograms"):
    """A bin of the best-fit run of a treatment: the share of its observations from ``low_us`` up to ``high_us``."""

    trial_id: str
    repetition: int
    low_us: float
    high_us: float
    share: float


class _Distances(TableRow):
    """AD and KS over pairs of runs: least, mean, greatest."""

    pairs: int
    ad_min: float
    ad_mean: float
    ad_max: float
    ks_min: float
    ks_mean: float
    ks_max: float


class RangeRow(_Distances, OfSpan, name="distribution_ranges"):
    """Distances over all pairs of runs of a treatment."""


class LevelDistanceRow(_Distances, OfSpan, name="distribution_levels"):
    """Distances between the runs at a level of a numeric factor and those of its baseline; at the baseline's own level,
    between its runs.

    ``amount`` is the level in ``unit``, and ``beside`` the levels of all other factors. ``ad_p`` is SciPy's, which is
    capped to 0.001..0.25, and ``ks_p`` its asymptotic one.
    """

    beside: str
    factor: str
    level: str
    amount: float
    unit: str
    ad_p_min: float
    ad_p_mean: float
    ad_p_max: float
    ks_p_min: float
    ks_p_mean: float
    ks_p_max: float
