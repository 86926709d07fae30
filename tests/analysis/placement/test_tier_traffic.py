"""Bytes between tiers: found again from what placements sent between nodes, and absent where these leave it open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest

from loadstone.analysis import schema, summary
from loadstone.analysis.metrics.network import BetweenRow
from loadstone.analysis.metrics.replicas import ReplicaRow
from loadstone.analysis.placement import tier_traffic
from loadstone.analysis.run import open_run
from loadstone.model.placement import LETTERS
from tests.placements import Placed

SEVEN = ("FD-LC", "FC-LD", "FL-CD", "FLD-C", "FLC-D", "FCD-L", "LCD-F")
TRUE = {"FL": 900.0, "FC": 0.0, "FD": 0.0, "LC": 1300.0, "LD": 500.0, "CD": 20.0}
TIERS = {letter: tier for tier, letter in reversed(LETTERS.items())}


def observed(
    folder: Path, placements: Sequence[str], error: float = 0.0
) -> tuple[list[summary.TreatmentSummary], dict[str, pa.Table]]:
    """A run of these placements, with what their nodes sent each other by ``TRUE``; of the first more by ``error``."""
    made = Placed(capacities=dict.fromkeys(placements, 900.0), rates=[200, 300], duration_s=0.5).write(folder)
    treatments = summary.treatments(open_run(made))
    between, replicas = [], []
    empty = dict.fromkeys((field.name for field in fields(ReplicaRow)), None)
    for treatment in treatments:
        name = treatment.levels["placement"]
        node = {letter: f"worker-{place}" for place, group in enumerate(name.split("-")) for letter in group}
        sent = sum(TRUE[a + b] for a, b in combinations("FLCD", 2) if node[a] != node[b])
        sent *= 1 + (error if name == placements[0] else 0.0)
        for trial in treatment.trials:
            at = BetweenRow.columns_of(trial)
            between.append(BetweenRow(**at, between_bytes_per_s=sent * trial.rate, between_bytes_per_request=sent))
            for letter, tier in TIERS.items():
                of = {"replica": tier, "service": tier, "tier": tier, "node": node[letter]}
                replicas.append(ReplicaRow(**{**empty, **at, **of}))
    return treatments, schema.tables((BetweenRow, between), (ReplicaRow, replicas))


def test_seven_splits_determine_all_six_pairs_at_each_load(tmp_path: Path) -> None:
    letters: dict[str, str] = {tier: letter for letter, tier in TIERS.items()}
    found = tier_traffic(*observed(tmp_path, SEVEN))
    assert [row.load for row in found] == [200] * 6 + [300] * 6
    for row in found[:6]:
        pair = letters[row.first] + letters[row.second]
        assert row.bytes_per_request == pytest.approx(TRUE[pair], abs=1e-6)
        assert (row.trials, row.others) == (7, "")
        assert row.deviation == pytest.approx(0, abs=1e-9)


def test_what_does_not_add_up_is_a_deviation(tmp_path: Path) -> None:
    assert 0.02 < tier_traffic(*observed(tmp_path, SEVEN, error=0.5))[0].deviation < 0.5


def test_too_few_placements_leave_it_open(tmp_path: Path) -> None:
    assert tier_traffic(*observed(tmp_path, SEVEN[:5])) == []


def test_a_tier_on_two_nodes_is_left_out(tmp_path: Path) -> None:
    treatments, tables = observed(tmp_path, SEVEN)
    rows = schema.rows(ReplicaRow, tables[ReplicaRow.NAME])
    spread = [row for row in rows if row.tier == "logic"]
    moved = [ReplicaRow(**{**vars(row), "replica": "second", "node": "worker-9"}) for row in spread]
    assert tier_traffic(treatments, tables | schema.tables((ReplicaRow, [*rows, *moved]))) == []
