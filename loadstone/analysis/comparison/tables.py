"""The tables of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from loadstone.analysis.comparison.measured import Key
from loadstone.analysis.statistics import EndpointComparison, Floor

if TYPE_CHECKING:
    from loadstone.analysis.statistics.shape import Shape

_TEXT, _NUMBER, _WHOLE = pa.string(), pa.float64(), pa.int64()
_AT: list[tuple[str, pa.DataType]] = [
    ("baseline", _TEXT),
    ("treatment", _TEXT),
    ("load", _NUMBER),
    ("clients", _WHOLE),
]
_ENDPOINT: list[tuple[str, pa.DataType]] = [("scope", _TEXT), ("name", _TEXT), ("statistic", _TEXT)]
_EFFECT: list[tuple[str, pa.DataType]] = [
    *((name, _NUMBER) for name in ("a_ms", "b_ms", "ratio", "low", "high", "p", "p_t", "p_adjusted", "p_equal")),
    ("method", _TEXT),
    ("runs", _WHOLE),
    *((name, _NUMBER) for name in ("sd", "margin")),
    ("verdict", _TEXT),
    ("needed", _WHOLE),
]
EFFECTS = pa.schema([*_AT, *_ENDPOINT, *_EFFECT])
"""One row per treatment, load and endpoint. ``a_ms`` and ``b_ms``: geometric means over runs of baseline and treatment;
``ratio``: b / a with its interval from ``low`` to ``high``; the rest as in ``comparison.Effect``."""
NOISE = pa.schema(
    [
        *_AT,
        *_ENDPOINT,
        *_EFFECT,
        *((name, _NUMBER) for name in ("sd_low", "sd_high", "detects", "detects_low", "detects_high")),
        ("from_second_runs", pa.bool_()),
    ]
)
"""A against A: the same, with the smallest slowdown that as many pairs as were run find with 80 % power.
``from_second_runs``: the baseline ran twice in each block; else its neighbouring runs were taken for pairs."""
SHAPES = pa.schema([*_AT, *((name, _NUMBER) for name in ("ks", "ad", "cvm", "wasserstein_ms"))])
"""Distances between the pooled latencies of all requests of both sides; a row of the baseline against itself first."""
SHIFTS = pa.schema(
    [*_AT, *((name, _NUMBER) for name in ("percentile", "a_ms", "b_ms", "shift_ms", "low_ms", "high_ms"))]
)
"""How far each percentile of all requests moved."""
CAPACITIES = pa.schema(
    [
        *_AT[:2],
        *((f"{side}{end}", _NUMBER) for side in ("a", "b") for end in ("", "_low", "_high")),
        *((name, _NUMBER) for name in ("ratio", "low", "high", "margin")),
        ("verdict", _TEXT),
    ]
)
"""Breaking points in requests/s of the baseline (a) and a treatment (b), and how many times as much that is."""

Row = dict[str, Any]
AGAIN = "A/A"
"""What stands for the treatment where the baseline is compared with itself."""


def effect_rows(where: Row, found: Iterable[tuple[Key, EndpointComparison]]) -> list[Row]:
    """Rows of ``EFFECTS``."""
    return [where | _row(key, comparison) for key, comparison in found]


def noise_rows(where: Row, found: Iterable[tuple[Key, Floor]], second: bool) -> list[Row]:
    """Rows of ``NOISE``."""
    names = ("sd_low", "sd_high", "detects", "detects_low", "detects_high")
    return [
        where
        | _row(key, floor.comparison)
        | {name: getattr(floor, name) for name in names}
        | {"from_second_runs": second}
        for key, floor in found
    ]


def shape_rows(where: Row, shape: Shape) -> tuple[Row, list[Row]]:
    """A row of ``SHAPES`` and rows of ``SHIFTS``, of samples in microseconds."""
    distances = {"ks": shape.ks, "ad": shape.ad, "cvm": shape.cvm, "wasserstein_ms": shape.wasserstein / 1000}
    shifts = [
        where
        | {"percentile": shift.percentile}
        | {f"{name}_ms": getattr(shift, name) / 1000 for name in ("a", "b", "shift", "low", "high")}
        for shift in shape.shifts
    ]
    return where | distances, shifts


def _row(key: Key, comparison: EndpointComparison) -> Row:
    effect, (a, b) = comparison.effect, (comparison.endpoint.a, comparison.endpoint.b)
    return {**key._asdict(), "a_ms": _mean(a), "b_ms": _mean(b), **asdict(effect)}


def _mean(values: Iterable[float]) -> float:
    import numpy as np

    return float(np.exp(np.mean(np.log(list(values)))))
