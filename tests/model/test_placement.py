"""Splits: as many as the formula says, none twice, every item once; and what they are called."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.application import Tier
from loadstone.model.placement import (
    Placement,
    partitions,
    service_splits,
    split_count,
    tier_splits,
)

TIERS: list[Tier] = ["frontend", "logic", "caching", "storage"]
NODES = ["worker-1", "worker-2", "worker-3", "worker-4"]


def stirling(n: int, k: int) -> int:
    """The explicit formula for the Stirling number of the second kind."""
    return sum((-1) ** i * math.comb(k, i) * (k - i) ** n for i in range(k + 1)) // math.factorial(k)


@given(st.integers(0, 8), st.integers(0, 5))
def test_partitions_are_as_many_as_the_formula_says_and_each_is_one(items: int, groups: int) -> None:
    found = list(partitions(range(items), groups))
    assert len(found) == stirling(items, groups) == split_count(items, groups)
    assert len({frozenset(map(frozenset, each)) for each in found}) == len(found), "none twice"
    for each in found:
        assert len(each) == groups
        assert all(each), "no node is empty"
        assert sorted(item for group in each for item in group) == list(range(items))


@pytest.mark.parametrize(("nodes", "count"), [(1, 1), (2, 7), (3, 6), (4, 1), (5, 0)])
def test_four_tiers_over_up_to_four_nodes(nodes: int, count: int) -> None:
    assert len(tier_splits(TIERS, nodes, NODES)) == count == stirling(4, nodes)


def test_two_node_splits_are_the_seven_of_the_published_search() -> None:
    names = [tier_split.name for tier_split in tier_splits(TIERS, 2, NODES)]
    assert sorted(map(str, names)) == sorted(["FLC-D", "FLD-C", "FL-CD", "FCD-L", "FC-LD", "FD-LC", "LCD-F"])
    assert [tier_split.name for tier_split in tier_splits(TIERS, 1, NODES)] == ["FLCD"]


def test_a_name_says_what_is_on_which_node() -> None:
    (split,) = [tier_split for tier_split in tier_splits(TIERS, 2, NODES) if tier_split.name == "LCD-F"]
    assert split.tiers == {
        "frontend": ["worker-2"], "logic": ["worker-1"], "caching": ["worker-1"], "storage": ["worker-1"]
    }  # fmt: skip
    assert str(split) == "LCD-F"


def test_tracing_is_where_the_logic_is() -> None:
    for split in tier_splits([*TIERS, "tracing"], 2, NODES):
        assert split.tiers["tracing"] == split.tiers["logic"]
        assert set(str(split.name)) == set("FLCD-")
    assert [tier_split.name for tier_split in tier_splits(["frontend", "storage"], 2, NODES)] == ["F-D"]


def test_services_are_named_in_full() -> None:
    splits = service_splits(["geo", "rate", "search"], 2, NODES)
    assert {split.name for split in splits} == {"geo+rate/search", "geo+search/rate", "rate+search/geo"}
    (split,) = [split for split in splits if split.name == "geo+search/rate"]
    assert split.services == {"geo": ["worker-1"], "search": ["worker-1"], "rate": ["worker-2"]}


def test_without_a_name_a_placement_says_its_nodes() -> None:
    placement = Placement(tiers={"frontend": ["a"]}, services={"geo": ["b", "c"]})
    assert str(placement) == "frontend:a,geo:b+c"
