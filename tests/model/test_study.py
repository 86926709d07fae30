"""Studies: what their defaults mean, and which treatments they have."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model import factors
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.study import Settings, Study

MINIMAL: dict[str, Any] = {
    "version": 1,
    "name": "a",
    "application": "hotel-reservation",
    "load": {"rates": [100], "slo": {"p99": "200ms"}},
}
LEVELS: dict[str, list[str]] = {
    "orchestrator": ["process", "swarm", "nomad"],
    "scaling": ["baseline", "vertical", "horizontal", "unlimited"],
    "profile": ["default", "paper"],
    "high_availability": ["on", "off"],
}


def document(**keys: Any) -> Document:
    return Document(yaml.safe_dump({**MINIMAL, **keys}, sort_keys=False), "study.yaml")


def study(**keys: Any) -> Study:
    return document(**keys).parse(Study)


def treatments(**keys: Any) -> list[Settings]:
    given_ = document(**keys)
    return [varied.study.settings for varied in factors.resolve(given_, factors.common(given_))]


def test_what_a_minimal_study_means() -> None:
    found = study()
    assert treatments() == [Settings()]
    assert found.load.arrival == "poisson"
    assert (found.trial.repetitions, found.trial.order, found.trial.reset) == (1, "interleaved", "per-trial")
    assert found.load.objective == found.load.slo
    assert found.cluster.infrastructure == "local"


def test_the_objective_of_a_search_stands_with_it() -> None:
    found = study(load={"capacity": {"slo": {"p95": "50ms"}}})
    assert found.load.objective is not None
    assert found.load.objective.limits == {95.0: 50.0}


def test_treatments_are_the_cross_product_in_file_order() -> None:
    varied = {"scaling": ["vertical", "baseline"], "profile": ["paper", "default"]}
    found = [(each.scaling, each.profile, each.documents) for each in treatments(factors=varied, documents="mongodb")]
    assert found == [
        ("vertical", "paper", "mongodb"),
        ("vertical", "default", "mongodb"),
        ("baseline", "paper", "mongodb"),
        ("baseline", "default", "mongodb"),
    ]


def test_except_drops_what_matches_all_it_names() -> None:
    found = treatments(
        factors={"scaling": ["baseline", "vertical"], "high_availability": ["on", "off"]},
        **{"except": [{"scaling": "vertical", "high_availability": "on"}]},
    )
    levels = [(each.scaling, each.high_availability) for each in found]
    assert levels == [("baseline", "on"), ("baseline", "off"), ("vertical", "off")]


@st.composite
def factors_and_exceptions(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
    names = draw(st.lists(st.sampled_from(list(LEVELS)), unique=True, min_size=1))
    varied = {name: draw(st.lists(st.sampled_from(LEVELS[name]), unique=True, min_size=1)) for name in names}
    item = st.fixed_dictionaries({}, optional={name: st.sampled_from(levels) for name, levels in varied.items()})
    return varied, draw(st.lists(item.filter(bool), max_size=4))


@given(factors_and_exceptions())
def test_treatments_are_all_combinations_that_no_exception_matches(
    given_: tuple[dict[str, list[str]], list[dict[str, str]]],
) -> None:
    varied, exceptions = given_
    found = treatments(factors=varied, **{"except": exceptions})
    combinations = [dict(zip(varied, levels, strict=True)) for levels in itertools.product(*varied.values())]
    kept = [
        combination
        for combination in combinations
        if not any(drop.items() <= combination.items() for drop in exceptions)
    ]
    assert [{name: getattr(each, name) for name in varied} for each in found] == kept


@given(factors_and_exceptions())
def test_a_study_survives_writing_and_reading(given_: tuple[dict[str, list[str]], list[dict[str, str]]]) -> None:
    varied, exceptions = given_
    found = study(
        factors=varied,
        **{"except": exceptions},
        resources={"geo": {"cpu": 0.5, "memory": "256MiB"}},
        load={"capacity": {"slo": {"p99": "200ms", "p50": "20ms"}, "precision": "7.5%"}, "timeout": "1500ms"},
        trial={"warmup": 0, "duration": "45s"},
    )
    written = found.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert Document(yaml.safe_dump(written, sort_keys=False), "again.yaml").parse(Study) == found


def test_more_combinations_than_anybody_means_are_refused_before_they_are_made() -> None:
    delays = [{"geo": f"{count}ms"} for count in range(1, 41)]
    periods = [{"period": f"{count}s"} for count in range(1, 27)]
    with pytest.raises(InputError, match=r"factors: 1,040 combinations of levels are more than 1,000; vary fewer"):
        study(factors={"delays": delays, "metrics": periods})
    assert len(study(factors={"delays": delays, "metrics": periods[:25]}).combinations()) == 1_000
