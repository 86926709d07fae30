"""The tables of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypedDict

from loadstone.analysis.comparison.measured import Key
from loadstone.analysis.schema import TableRow
from loadstone.analysis.statistics import EndpointComparison, Floor, mean

if TYPE_CHECKING:
    from loadstone.analysis.statistics.shape import Shape

AGAIN = "A/A"
"""What stands for the treatment where the baseline is compared with itself."""


class Sides(TypedDict):
    """What is compared with what, and at which load."""

    baseline: str
    treatment: str
    load: float
    clients: int | None


class _Compared(TableRow):
    baseline: str
    treatment: str
    load: float
    clients: int | None


class EffectRow(_Compared, name="comparison"):
    """One endpoint of a treatment at a load: ``ratio`` is b / a with its interval, the rest as ``statistics.Effect``.

    ``a_ms`` and ``b_ms``: geometric means over runs of baseline and treatment.
    """

    scope: str
    name: str
    statistic: str
    a_ms: float
    b_ms: float
    ratio: float
    low: float
    high: float
    p: float
    p_t: float
    p_adjusted: float | None
    p_equal: float | None
    method: str
    runs: int
    sd: float
    margin: float
    verdict: str
    needed: int | None


class NoiseRow(EffectRow, name="comparison_noise"):
    """A against A: also the smallest slowdown that as many pairs as were run find with 80 % power.

    ``from_second_runs``: the baseline ran twice in each block; else its neighbouring runs were taken for pairs.
    """

    sd_low: float
    sd_high: float
    detects: float
    detects_low: float
    detects_high: float
    from_second_runs: bool


class ShapeRow(_Compared, name="comparison_shapes"):
    """Distances between the pooled latencies of all requests of both sides."""

    ks: float
    ad: float
    cvm: float
    wasserstein_ms: float


class ShiftRow(_Compared, name="comparison_shifts"):
    """How far a percentile of all requests moved."""

    percentile: float
    a_ms: float
    b_ms: float
    shift_ms: float
    low_ms: float
    high_ms: float


class CapacityRow(TableRow, name="comparison_capacities"):
    """Breaking points in requests/s of the baseline (a) and a treatment (b), and how many times as much that is."""

    baseline: str
    treatment: str
    a: float
    a_low: float
    a_high: float
    b: float
    b_low: float
    b_high: float
    ratio: float
    low: float
    high: float
    margin: float
    verdict: str


def effect_rows(sides: Sides, found: Iterable[tuple[Key, EndpointComparison]]) -> list[EffectRow]:
    """The endpoints of one treatment at one load."""
    return [EffectRow(**sides, **_effect(key, comparison)) for key, comparison in found]


def noise_rows(sides: Sides, found: Iterable[tuple[Key, Floor]], second: bool) -> list[NoiseRow]:
    """The endpoints of the baseline against itself at one load."""
    return [
        NoiseRow(
            **sides,
            **_effect(key, floor.comparison),
            sd_low=floor.sd_low,
            sd_high=floor.sd_high,
            detects=floor.detects,
            detects_low=floor.detects_low,
            detects_high=floor.detects_high,
            from_second_runs=second,
        )
        for key, floor in found
    ]


def shape_rows(sides: Sides, shape: Shape) -> tuple[ShapeRow, list[ShiftRow]]:
    """The distances of samples in microseconds, and how far each percentile moved."""
    distances = ShapeRow(**sides, ks=shape.ks, ad=shape.ad, cvm=shape.cvm, wasserstein_ms=shape.wasserstein / 1000)
    shifts = [
        ShiftRow(
            **sides,
            percentile=shift.percentile,
            a_ms=shift.a / 1000,
            b_ms=shift.b / 1000,
            shift_ms=shift.shift / 1000,
            low_ms=shift.low / 1000,
            high_ms=shift.high / 1000,
        )
        for shift in shape.shifts
    ]
    return distances, shifts


def _effect(key: Key, comparison: EndpointComparison) -> dict[str, Any]:
    effect, (a, b) = comparison.effect, (comparison.endpoint.a, comparison.endpoint.b)
    return {**key._asdict(), "a_ms": mean(a).value, "b_ms": mean(b).value, **asdict(effect)}
