"""Studies of runs that never ran: latencies that vary from request to request, from run to run, and with the hour.

A request's latency is log-normal around the level of its run. Of a run of 10,000 requests only P50 and P99 are drawn,
from the exact joint distribution of its order statistics, so that thousands of studies take seconds; where a method
needs the requests themselves, they are drawn too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]

REQUESTS = 10_000
REQUEST_SPREAD = 0.3
"""Standard deviation of the logarithm of a request's latency within a run."""
_SAMPLING = REQUEST_SPREAD * np.sqrt(0.25 / REQUESTS) * np.sqrt(2 * np.pi)
"""Standard deviation of the logarithm of a run's P50, by the chance of its 10,000 requests alone."""
TREND = 0.10
"""How far the level moves over a study that drifts, steadily, beside its random walk."""


@dataclass(frozen=True)
class SimulatedKind:
    """One kind of study."""

    pairs: int
    sd: float
    """Standard deviation of the logarithm of P50 from run to run, the chance of its requests included."""
    shared: float = 0.0
    """The share of that variance that both runs of a block have in common."""
    drift: bool = False
    """Levels also follow a trend and a random walk with steps of ``sd`` from run to run; blocks are in random order."""
    shift: float = 0.0
    """B's latency over A's, less 1."""
    operations: int = 1
    """Operations share half of what is a run's own."""
    in_blocks: bool = True
    """Otherwise all runs of A come before those of B."""


def draw(kind: SimulatedKind, studies: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Logarithms of A and B, indexed by study, pair, operation, and P50 or P99."""
    levels = _levels(kind, studies, rng)
    upper = rng.beta(0.99 * REQUESTS, 0.01 * REQUESTS + 1, levels.shape)
    middle = upper * rng.beta(0.5 * REQUESTS, 0.49 * REQUESTS, levels.shape)
    seen = np.stack([levels + REQUEST_SPREAD * ndtri(share) for share in (middle, upper)], axis=-1)
    return seen[:, :, 0], seen[:, :, 1] + np.log1p(kind.shift)


def requests(kind: SimulatedKind, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """All latencies of one study with a single operation: of A and B, a row a run."""
    levels = _levels(kind, 1, rng)[0, :, :, 0]
    noise = rng.normal(0, REQUEST_SPREAD, (kind.pairs, 2, REQUESTS))
    seen = np.exp(levels[:, :, None] + noise)
    return seen[:, 0], seen[:, 1] * (1 + kind.shift)


def _levels(kind: SimulatedKind, studies: int, rng: np.random.Generator) -> Floats:
    """Levels of the logarithms of runs: by study, pair, A or B, and operation."""
    own = np.sqrt((1 - kind.shared) * kind.sd**2 - _SAMPLING**2)
    shape = (studies, kind.pairs, 2)
    common = rng.normal(0, np.sqrt(kind.shared) * kind.sd, (studies, kind.pairs, 1, 1))
    together, alone = rng.normal(0, own, (*shape, 1)), rng.normal(0, own, (*shape, kind.operations))
    levels = common + (np.sqrt(0.5) * (together + alone) if kind.operations > 1 else alone)
    if kind.drift:
        levels = levels + _drift(kind, studies, rng)[..., None]
    return levels


def _drift(kind: SimulatedKind, studies: int, rng: np.random.Generator) -> Floats:
    """Drift of each run's level, at the time when it ran: by study, pair, A or B."""
    slots = 2 * kind.pairs
    path = np.linspace(0, TREND, slots) + np.cumsum(rng.normal(0, kind.sd, (studies, slots)), axis=1)
    if not kind.in_blocks:
        return np.stack([path[:, : kind.pairs], path[:, kind.pairs :]], axis=-1)
    blocks = path.reshape(studies, kind.pairs, 2)
    swapped = rng.random((studies, kind.pairs, 1)) < 0.5
    return np.where(swapped, blocks[..., ::-1], blocks)
