"""Workloads: templates and the random fields in them."""

from __future__ import annotations

from typing import Any

import pytest

from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.workload import Operation, Workload
from tests.model.wrong_files import Case, cases, table

TABLE = cases(table("wrong-workloads.txt"))

GOOD: dict[str, Any] = {
    "path": "/hotels?inDate={inDate}&outDate={outDate}&lat={lat}&by={by}&user={user}",
    "headers": {"X-User": "{user}"},
    "fields": {
        "inDate": {"kind": "date", "from": "2015-04-09", "to": "2015-04-23"},
        "outDate": {"kind": "date", "after": "inDate", "max_days": 3},
        "lat": {"kind": "decimal", "min": 37.7, "max": 38.2, "step": 0.001},
        "by": {"kind": "choice", "values": ["dis", "rate"], "weights": [1, 2]},
        "user": {"kind": "integer", "min": 0, "max": 500},
    },
}


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name.replace(" ", "-"))
def test_a_wrong_workload_is_answered_with_exactly_these_messages(case: Case) -> None:
    with pytest.raises(InputError) as caught:
        Document(case.text, "workload.yaml").parse(Workload)
    assert str(caught.value).splitlines() == case.messages


def test_the_table_has_every_case_once() -> None:
    names = [case.name for case in TABLE]
    assert len(names) == len(set(names)) >= 68
    assert all(case.messages for case in TABLE)


def findings(field: dict[str, Any], **others: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    operation = Operation.model_validate({"path": "/{a}", "fields": {"a": field, **others}})
    return list(operation.findings())


def test_a_good_operation_has_nothing_wrong() -> None:
    assert list(Operation.model_validate(GOOD).findings()) == []


def test_a_workload_names_the_operation() -> None:
    workload = Workload.model_validate({"operations": {"get": {"path": "/{a}"}}})
    assert list(workload.findings()) == [(("operations", "get", "path"), "{a} is not a field; known: none")]


@pytest.mark.parametrize("key", ["path", "body"])
def test_every_template_is_checked(key: str) -> None:
    operation = Operation.model_validate({**GOOD, key: "/{usr}"})
    assert list(operation.findings()) == [((key,), "{usr} is not a field; did you mean 'user'?")]


def test_headers_are_templates_too() -> None:
    operation = Operation.model_validate({**GOOD, "headers": {"X-User": "{usr}"}})
    assert list(operation.findings()) == [(("headers", "X-User"), "{usr} is not a field; did you mean 'user'?")]


@pytest.mark.parametrize(
    ("field", "key", "message"),
    [
        ({"kind": "integer", "min": 5, "max": 4}, "min", "5 is above max 4"),
        ({"kind": "decimal", "min": 5, "max": 4.5, "step": 0.1}, "min", "5.0 is above max 4.5"),
        ({"kind": "choice", "values": ["x", "y"], "weights": [1]}, "weights", "1 weights for 2 values"),
        ({"kind": "date", "from": "2015-04-09"}, "from", "a date 'from' a day needs 'to'"),
        ({"kind": "date", "from": "2015-04-09", "to": "2015-04-08"}, "from", "2015-04-09 is after to 2015-04-08"),
        ({"kind": "date", "after": "b"}, "after", "a date 'after' another needs 'to' or 'max_days'"),
        ({"kind": "date", "after": "b", "min_days": 4, "max_days": 3}, "max_days", "3 is below min_days 4"),
        ({"kind": "date", "after": "c", "max_days": 3}, "after", "'c' is not a date field of this operation; known: b"),
        (
            {"kind": "date", "after": "a", "max_days": 3},
            "after",
            "refers to itself: a -> a; begin with a date that has 'from'",
        ),
    ],
)
def test_fields_that_contradict_themselves(field: dict[str, Any], key: str, message: str) -> None:
    day = {"kind": "date", "from": "2015-04-09", "to": "2015-04-23"}
    assert findings(field, b=day) == [(("fields", "a", key), message)]


def test_a_date_begins_somewhere() -> None:
    assert findings({"kind": "date", "to": "2015-04-09"}) == [
        (("fields", "a"), "a date needs either 'from' or 'after'")
    ]


def test_dates_in_a_circle_are_each_named() -> None:
    circle = {"kind": "date", "after": "b", "max_days": 1}, {"kind": "date", "after": "a", "max_days": 1}
    assert [path for path, _ in findings(circle[0], b=circle[1])] == [
        ("fields", "a", "after"),
        ("fields", "b", "after"),
    ]
