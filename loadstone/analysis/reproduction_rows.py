"""The rows of the fifth study's tables. They stand outside of ``reproduction``, which brings a compiler along."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadstone.analysis.schema import TableRow


@dataclass(frozen=True, kw_only=True)
class _OfSpan(TableRow):
    """``span`` is ``service operation``, an operation, or ``all requests``; latencies are in us."""

    span: str
    kind: str
    rate: float
    clients: int | None
    treatment: str


@dataclass(frozen=True, kw_only=True)
class BestFitRow(_OfSpan):
    """The best-fit run of a treatment, in the published columns."""

    NAME: ClassVar[str] = "reproduction"

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


@dataclass(frozen=True, kw_only=True)
class SummedRun(_OfSpan):
    """A run of a treatment with its distance from the others."""

    NAME: ClassVar[str] = "reproduction_runs"

    trial_id: str
    summed_ad: float
    best_fit: bool


@dataclass(frozen=True, kw_only=True)
class PairRow(_OfSpan):
    """Two runs of a treatment and their distance."""

    NAME: ClassVar[str] = "reproduction_pairs"

    trial_a: str
    trial_b: str
    ad_statistic: float
    ks_statistic: float


@dataclass(frozen=True, kw_only=True)
class PercentileRow(_OfSpan):
    """A percentile of the best-fit run, and its range over all runs."""

    NAME: ClassVar[str] = "reproduction_percentiles"

    percentile: float
    latency_us: float
    lowest_us: float
    highest_us: float
