"""The rows of the fifth study's tables. They stand outside of ``reproduction``, which brings a compiler along."""

from __future__ import annotations

from loadstone.analysis.schema import TableRow


class _OfSpan(TableRow):
    """``span`` is ``service operation``, an operation, or ``all requests``; latencies are in us."""

    span: str
    kind: str
    rate: float
    clients: int | None
    treatment: str


class BestFitRow(_OfSpan, name="reproduction"):
    """The best-fit run of a treatment, in the published columns."""

    baseline: bool
    best_fit: str
    repetition: int
    runs: int
    requests: int
    p50_us: float
    p75_us: float
    p90_us: float
    p95_us: float
    p99_us: float
    p100_us: float
    ad_statistic: float | None
    ks_statistic: float | None
    baseline_ad_q95: float | None


class SummedRun(_OfSpan, name="reproduction_runs"):
    """A run of a treatment with its distance from the others."""

    trial_id: str
    summed_ad: float
    best_fit: bool


class PairRow(_OfSpan, name="reproduction_pairs"):
    """Two runs of a treatment and their distance."""

    trial_a: str
    trial_b: str
    ad_statistic: float
    ks_statistic: float


class BestFitPercentileRow(_OfSpan, name="reproduction_percentiles"):
    """A percentile of the best-fit run, and its range over all runs."""

    percentile: float
    latency_us: float
    lowest_us: float
    highest_us: float
