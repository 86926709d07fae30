"""What a run warns of before it begins: deployments and clusters that others left on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.experiments.left_overs import left_overs
from loadstone.infrastructure import journal
from loadstone.infrastructure.journal import JournalEntry, cluster_name


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path))


def left(name: str, layer: str = "orchestrators", kept: bool = False) -> None:
    journal.save(JournalEntry(name=name, layer=layer, implementation="swarm", folder="/", facts={"kept": kept}))


def test_nothing_is_warned_of_where_nothing_was_left() -> None:
    assert left_overs("mine", finds_clusters=False) == []


def test_each_deployment_and_cluster_of_others_is_named_with_the_remedy() -> None:
    left("other-1")
    left("up-shop")
    left("other-cluster", "infrastructure")
    first, cluster, up = sorted(left_overs("mine", finds_clusters=False))
    assert first == "other-1 was left by a run that was killed, and disturbs; remove it with: loadstone down other-1"
    assert cluster.startswith("other-cluster was left by a run that was killed")
    assert up == "up-shop is up, and disturbs; remove it with: loadstone down up-shop"


def test_its_own_what_is_kept_and_clusters_that_it_uses_are_no_left_overs() -> None:
    left("mine-1")
    left(cluster_name("mine"), "infrastructure")
    left("kept", "infrastructure", kept=True)
    assert left_overs("mine", finds_clusters=False) == []
    left("theirs", "infrastructure")
    assert left_overs("mine", finds_clusters=True) == [] and len(left_overs("mine", finds_clusters=False)) == 1
