"""Datasets, and fields that are drawn from their numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model import dataset
from loadstone.model.dataset import Dataset
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.workload import Workload, operation_plan


def workload(**fields: dict[str, Any]) -> Workload:
    """One request and one step of a session, both with these fields."""
    path = "/?" + "&".join(f"{name}={{{name}}}" for name in fields)
    operations = {
        "get": {"path": path, "fields": fields},
        "visit": {
            "fields": {"one": {"kind": "text", "length": 3}},
            "steps": [{"name": "look", **{"path": path, "fields": fields}}],
        },
    }
    return Document(yaml.safe_dump({"operations": operations}), "workload.yaml").parse(Workload)


def test_a_dataset_is_its_keys_without_its_description() -> None:
    text = "description: some people\nusers: 962\nshare: 0.5\nmodel: uniform\n"
    assert Document(text, "d.yaml").parse(Dataset).keys == {"users": 962, "share": 0.5, "model": "uniform"}


def test_a_dataset_read_back_has_the_same_keys() -> None:
    item = Dataset.model_validate({"users": 3, "description": "few"})
    assert Dataset.model_validate(json.loads(json.dumps(item.model_dump(mode="json")))) == item


@given(users=st.integers(1, 10**12), first=st.integers(0, 10**12))
def test_a_seeded_field_is_an_integer_over_what_the_dataset_has(users: int, first: int) -> None:
    mixed = workload(user={"kind": "seeded", "of": "users", "first": first})
    assert dataset.is_seeded(mixed)
    resolved = dataset.resolved(mixed, {"users": users})
    assert not dataset.is_seeded(resolved)
    expected = {"kind": "integer", "min": first, "max": first + users - 1}
    assert operation_plan("get", resolved.operations["get"])["fields"] == {"user": expected}
    visit = operation_plan("visit", resolved.operations["visit"])
    assert visit["fields"] == {"one": {"kind": "text", "length": 3, "alphabet": "alnum"}}
    assert visit["steps"][0]["fields"] == {"user": expected}


def test_two_seeded_fields_can_differ_and_be_repeated() -> None:
    user = {"kind": "seeded", "of": "users"}
    mixed = workload(a=user, b={**user, "not": "a"}, c={"kind": "repeat", "of": "b", "min": 1, "max": 3})
    plan = operation_plan("get", dataset.resolved(mixed, {"users": 10}).operations["get"])
    assert plan["fields"]["b"] == {"kind": "integer", "min": 0, "max": 9, "not": "a"}
    assert plan["fields"]["c"]["of"] == "b"


def test_what_is_not_seeded_stays_as_it_is() -> None:
    mixed = workload(a={"kind": "integer", "min": 1, "max": 2})
    assert not dataset.is_seeded(mixed)
    assert dataset.resolved(mixed, {}) == mixed


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"edges": 10}, "the dataset has no key 'users'; known: edges"),
        ({"users": 0}, "the dataset has users: 0; it must be a whole number from 1 to 1,000,000,000,000"),
        ({"users": "many"}, "the dataset has users: 'many'; it must be a whole number from 1 to 1,000,000,000,000"),
        ({"users": 1}, "the dataset has users: 1, which leaves no value that differs from a"),
    ],
)
def test_a_dataset_that_cannot_give_a_field_is_refused(keys: dict[str, Any], message: str) -> None:
    mixed = workload(a={"kind": "integer", "min": 0, "max": 9}, b={"kind": "seeded", "of": "users", "not": "a"})
    with pytest.raises(InputError) as caught:
        dataset.resolved(mixed, keys)
    assert str(caught.value) == message


@pytest.mark.parametrize(("name", "path"), [("small", False), ("socfb-Reed98", False), ("a.mtx", True), ("b/c", True)])
def test_what_could_be_a_path_is_one(name: str, path: bool) -> None:
    assert dataset.is_path(name) is path
