"""Bytes between each pair of tiers, from what placements sent between nodes.

Counters know nodes, not tiers. But what went between the nodes of a placement is the sum over the pairs of tiers that
it separates, and each placement separates other pairs: enough of them determine every pair. The seven splits of four
tiers over two nodes are seven sums of six pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from loadstone.analysis.metrics.network import BetweenRow
from loadstone.analysis.metrics.replicas import ReplicaRow
from loadstone.analysis.placement.tables import FACTOR, others, valid
from loadstone.analysis.schema import TableRow, rows
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.placement import LETTERS

Sums = list[tuple[dict[str, str], float]]
"""By trial the node of each tier, and the bytes between nodes per completed request."""


class TierTraffic(TableRow, name="placement_tier_traffic"):
    """Bytes per completed request between two tiers, both directions together, by least squares over trials.

    ``deviation``: root mean square of what the pairs add up to for a trial less what was measured, over the mean that
    was measured; the same for all pairs of a load.
    """

    others: str
    load: float
    first: str
    second: str
    bytes_per_request: float
    trials: int
    deviation: float


def tier_traffic(treatments: Sequence[TreatmentSummary], metrics: Mapping[str, pa.Table]) -> list[TierTraffic]:
    """A row for each load and pair of tiers; none for a load whose placements do not determine all pairs."""
    if BetweenRow.NAME not in metrics or ReplicaRow.NAME not in metrics:
        return []
    between = {row.trial_id: row.between_bytes_per_request for row in rows(BetweenRow, metrics[BetweenRow.NAME])}
    nodes = _nodes(rows(ReplicaRow, metrics[ReplicaRow.NAME]))
    groups: dict[tuple[str, float], Sums] = {}
    for treatment in treatments:
        for trial in valid(treatment) if FACTOR in treatment.levels else ():
            sent, placed = between.get(trial.trial_id), nodes.get(trial.trial_id)
            if sent is not None and placed is not None:
                groups.setdefault((others(treatment), trial.load), []).append((placed, sent))
    return [row for (other, load), sums in sorted(groups.items()) for row in _solved(other, load, sums)]


def _nodes(replicas: Sequence[ReplicaRow]) -> dict[str, dict[str, str]]:
    """By trial the node of each tier; without trials in which a tier has several."""
    found: dict[str, dict[str, set[str]]] = {}
    for row in replicas:
        tier = "logic" if row.tier == "tracing" else row.tier  # as in the names of splits
        found.setdefault(row.trial_id, {}).setdefault(tier, set()).add(row.node)
    return {
        trial: {tier: next(iter(tiers[tier])) for tier in LETTERS if tier in tiers}
        for trial, tiers in found.items()
        if all(len(on) == 1 for on in tiers.values())
    }


def _solved(other: str, load: float, sums: Sums) -> Iterator[TierTraffic]:
    pairs = list(combinations(sums[0][0], 2))
    apart = np.array([[nodes.get(a) != nodes.get(b) for a, b in pairs] for nodes, _ in sums], dtype=np.float64)
    measured = np.array([sent for _, sent in sums])
    if not pairs or not measured.any() or np.linalg.matrix_rank(apart) < len(pairs):
        return
    from scipy.optimize import nnls  # takes long to import, and only studies of placement need it

    found, distance = nnls(apart, measured)
    deviation = float(distance / np.sqrt(len(measured)) / measured.mean())
    for (first, second), sent in zip(pairs, found, strict=True):
        yield TierTraffic(
            others=other,
            load=load,
            first=first,
            second=second,
            bytes_per_request=float(sent),
            trials=len(sums),
            deviation=deviation,
        )
