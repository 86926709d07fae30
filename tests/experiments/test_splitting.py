"""Splits of the application, written out as levels of the factor placement."""

from __future__ import annotations

import pytest

from loadstone.experiments.plan import Plan
from loadstone.model.errors import InputError
from tests.experiments.splits import plan


def labels(found: Plan) -> list[str]:
    return [treatment.levels["placement"] for treatment in found.treatments]


def test_every_split_of_the_tiers_is_a_treatment() -> None:
    found = labels(plan({"tiers": "all-splits", "nodes": 2}))
    assert len(found) == len(set(found)) == 7
    assert found[0] == "FLC-D"
    both = labels(plan({"tiers": "all-splits", "nodes": [1, 2]}))
    assert both == ["FLCD", *found], "the single node only where it is requested"


def test_the_nodes_are_the_clusters_workers_or_those_that_are_named() -> None:
    treatment = plan({"tiers": "all-splits", "nodes": 2}).treatments[0]
    assert treatment.settings.placement is not None
    assert treatment.settings.placement.tiers["storage"] == ["worker-2"]
    assert treatment.label == "placement=FLC-D"
    named = plan({"tiers": "all-splits", "nodes": 2, "workers": ["left", "right"]}).treatments[0]
    assert named.settings.placement is not None
    assert named.settings.placement.tiers["storage"] == ["right"]


def test_services_are_split_by_name() -> None:
    found = labels(plan({"services": ["geo", "rate", "search"], "nodes": [1, 2]}))
    assert found[0] == "geo+rate+search"
    assert len(found) == 1 + 3


def test_other_factors_are_crossed_with_it_and_except_knows_its_names() -> None:
    factors = {"scaling": ["baseline", "horizontal"], "placement": {"tiers": "all-splits", "nodes": [1, 2]}}
    crossed = plan(None, factors=factors)
    assert len(crossed.treatments) == 2 * 8
    without = plan(None, factors=factors, **{"except": [{"placement": "FLCD"}, {"scaling": "horizontal"}]})
    assert len(without.treatments) == 7
    assert "FLCD" not in labels(without)


def test_a_placement_is_the_same_treatment_whatever_it_is_called() -> None:
    tiers = {"frontend": ["worker-1"], "logic": ["worker-1"], "caching": ["worker-1"], "storage": ["worker-2"]}
    ids = [plan([{"tiers": tiers, **name}]).treatments[0].id for name in ({}, {"name": "FLC-D"}, {"name": "mine"})]
    assert len(set(ids)) == 1
    assert ids[0] == plan({"tiers": "all-splits", "nodes": 2}).treatments[0].id


def test_more_treatments_than_anybody_means_are_refused_with_their_number() -> None:
    with pytest.raises(InputError) as caught:
        plan({"services": "all-splits", "nodes": 2})
    assert str(caught.value) == (
        "study.yaml:9: factors.placement: splitting 22 services makes 2,097,151 treatments, more than the limit "
        "of 500; split fewer services (services: [a, b, c]) or the tiers, or use fewer nodes or fewer levels of other "
        "factors"
    )
