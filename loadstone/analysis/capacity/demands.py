"""What a request costs each service: CPU-seconds from cgroup counters at several loads, as a quadratic in the load.

The utilisation law: a service that uses C cores at a throughput of X requests/s spends D = C / X CPU-seconds on each.
D falls where a fixed cost (timers, a store's own housekeeping) is shared by more requests or work is done in batches,
and grows with contention, so C(x) = a + b x + c x^2 for the rate x of one replica. Few noisy trials do not determine a
curvature, and an extrapolated one ruins a prediction: Bayesian regression draws a and c towards 0 as far as the trials
allow. Beyond the highest load fitted the curve goes on in a straight line: along its tangent where it
bends upwards, along the chord from no load where it bends downwards, as cheaper and cheaper requests were not measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_PRIOR_MEAN = np.array([0.0, 1.0, 0.0])
_PRIOR_SD = np.array([0.3, 3.0, 0.15])
"""Prior of idle cost, cost per request and curvature, each as a share of the CPU at the highest load fitted."""
_NOISE, _NOISE_WEIGHT = 0.04, 4.0
"""Relative spread of D from trial to trial before any is seen, and how many trials that belief counts for."""
_LEAST_SLOPE = 0.2
"""One more request costs at least this share of the mean one: CPU use never falls with the load."""


@dataclass(frozen=True)
class Point:
    """One service in one trial: requests/s of the application and cores, both per replica."""

    rate: float
    cores: float
    seconds: float
    trial: str

    @property
    def demand(self) -> float:
        """CPU-seconds per request."""
        return self.cores / self.rate


@dataclass(frozen=True)
class CpuDemand:
    """The CPU of one replica against its share of the requests."""

    service: str
    tier: str | None
    points: tuple[Point, ...]
    top: float
    """The highest rate fitted, requests/s of one replica; ``mean`` and ``spread`` are in units of it."""
    unit: float
    """CPU-seconds per request that 1 stands for."""
    mean: Floats
    spread: Floats
    """A square root of the covariance: ``mean + spread @ z`` is a draw for a standard normal z."""
    noise: float
    """Relative spread of D from trial to trial."""

    def cores(self, rate: Floats | float, coefficients: Floats | None = None) -> Floats:
        """Cores of one replica at ``rate`` requests/s of it; for draws, one row of ``coefficients`` a rate."""
        idle, slope, curve = np.moveaxis(self.mean if coefficients is None else coefficients, -1, 0)
        slope = np.maximum(slope, _LEAST_SLOPE)
        curve = np.maximum(curve, (_LEAST_SLOPE - slope) / 2)
        at = np.asarray(rate, dtype=np.float64) / self.top
        inside = np.minimum(at, 1.0)
        beyond = slope + curve + np.maximum(curve, 0)
        used = idle + slope * inside + curve * inside**2 + beyond * (at - inside)
        return np.asarray(np.maximum(used, 0.0) * self.unit * self.top, dtype=np.float64)

    def seconds(self, rate: float) -> float:
        """CPU-seconds per request at ``rate`` requests/s of one replica."""
        return float(self.cores(rate)) / rate

    def interval(self, rate: float, z: Floats) -> tuple[float, float]:
        """95 % of the draws of ``seconds``."""
        low, high = np.quantile(self.cores(rate, self.draws(z)) / rate, [0.025, 0.975])
        return float(low), float(high)

    def draws(self, z: Floats) -> Floats:
        """Coefficients for standard draws ``z`` (n, 3)."""
        return np.asarray(self.mean + z @ self.spread.T, dtype=np.float64)


def fit(service: str, tier: str | None, points: Sequence[Point]) -> CpuDemand:
    """The demand of a service from at least one trial in which it used any CPU."""
    rate = np.array([point.rate for point in points])
    cost = np.array([point.demand for point in points])
    weight = np.array([point.seconds for point in points])
    weight = weight / weight.mean()
    top, unit = float(rate.max()), float(np.average(cost, weights=weight))
    if unit <= 0:
        zero = np.zeros((3, 3))
        return CpuDemand(service, tier, tuple(points), top, 1e-12, _PRIOR_MEAN, zero, 0.0)
    at, relative = rate / top, cost / unit
    basis = np.stack([1 / at, np.ones_like(at), at], axis=1)
    precision = np.diag(1 / _PRIOR_SD**2)
    noise = _NOISE
    for _ in range(20):
        weighted = basis.T * (weight / noise**2)
        covariance = np.linalg.inv(weighted @ basis + precision)
        mean = covariance @ (weighted @ relative + precision @ _PRIOR_MEAN)
        squares = float(weight @ (relative - basis @ mean) ** 2)
        determined = float(
            np.trace(covariance @ weighted @ basis)
        )  # parameters that the trials, not the prior, determine
        noise = math.sqrt((_NOISE_WEIGHT * _NOISE**2 + squares) / (_NOISE_WEIGHT + len(points) - determined))
    return CpuDemand(service, tier, tuple(points), top, unit, mean, np.linalg.cholesky(covariance), noise)
