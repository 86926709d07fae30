"""Numbers of emulated nodes are not compared, unless the user says that this is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.experiments.deployment import orchestrate
from loadstone.experiments.emulation import node_counts
from loadstone.infrastructure.base import Provision
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from tests.experiments.splits import plan


def deployments(nodes: list[int], emulated: bool, **changed: object) -> list[Deployment]:
    hosts = [
        Node(name=f"worker-{n}", role="worker", address=f"198.18.0.{n}", cpus=(0,), memory=2**34, emulated=emulated)
        for n in (1, 2)
    ]
    split = plan({"tiers": "all-splits", "nodes": nodes}, **changed)
    return [
        orchestrate(split.deployable(treatment), Provision(tuple(hosts)), "x", Path()).deployment
        for treatment in split.treatments
    ]


@pytest.mark.parametrize(("accepted", "level"), [(False, "error"), (True, "warning")])
def test_one_node_against_two_emulated_ones_needs_a_word(accepted: bool, level: str) -> None:
    (finding,) = node_counts(deployments([1, 2], emulated=True), accepted)
    assert finding.level == level
    assert finding.message == (
        "treatments run on 1 and 2 nodes, which share the cores of one machine: more nodes add no capacity"
    )
    assert "--emulated-ok" in finding.remedy


def test_splits_over_as_many_nodes_and_machines_of_their_own_are_compared() -> None:
    assert node_counts(deployments([2], emulated=True), accepted=False) == []
    assert node_counts(deployments([1, 2], emulated=False), accepted=False) == []


def test_what_placement_leaves_free_may_be_anywhere() -> None:
    found = plan([{"tiers": {"frontend": ["worker-1"]}}, None])
    hosts = tuple(deployments([2], emulated=True)[0].nodes)
    both = [
        orchestrate(found.deployable(treatment), Provision(hosts), "x", Path()).deployment
        for treatment in found.treatments
    ]
    assert node_counts(both, accepted=False) == []
