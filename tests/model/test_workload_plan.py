"""What the load generator is given of a workload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from loadstone.applications import catalogue
from loadstone.model.document import Document
from loadstone.model.workload import Operation, Workload, operation_plan

HOTEL_MIX = Path(__file__).parents[2] / "stone/load/request/testdata/hotel-mixed.json"


def plan(text: str, file: str = "workload.yaml") -> dict[str, Any]:
    """The plan of the one operation in a workload file."""
    workload = Document(text, file).parse(Workload)
    ((name, operation),) = workload.operations.items()
    return operation_plan(name, operation)


def test_what_was_left_out_is_left_to_the_generator() -> None:
    assert plan("operations: {get: {path: /}}") == {"name": "get", "weight": 1.0, "path": "/"}


def test_one_request_with_everything() -> None:
    text = """
operations:
  post:
    weight: 2
    method: POST
    path: /{id}
    headers: {X-User: "{user}"}
    body: '{"text": "{text}"}'
    fields:
      id: {kind: sequence, start: 5}
      user: {kind: zipf, n: 100, alpha: 0.9}
      text: {kind: text, min: 1, max: 5, alphabet: words}
      a: {kind: integer, min: 1, max: 3}
      b: {kind: integer, min: 1, max: 3, not: a}
      d: {kind: date, from: 2015-04-09, to: 2015-04-23}
    expect: {status: [200, 201], json: {path: a.0, equals: null}, max_bytes: 0}
"""
    assert plan(text) == {
        "name": "post",
        "weight": 2.0,
        "method": "POST",
        "path": "/{id}",
        "headers": {"X-User": "{user}"},
        "body": '{"text": "{text}"}',
        "fields": {
            "id": {"kind": "sequence", "start": 5, "step": 1},
            "user": {"kind": "zipf", "n": 100, "alpha": 0.9},
            "text": {"kind": "text", "min": 1, "max": 5, "alphabet": "words"},
            "a": {"kind": "integer", "min": 1, "max": 3},
            "b": {"kind": "integer", "min": 1, "max": 3, "not": "a"},
            "d": {"kind": "date", "from": "2015-04-09", "to": "2015-04-23"},
        },
        "expect": {"status": [200, 201], "json": {"path": "a.0", "equals": None}, "max_bytes": 0},
    }


def test_a_session() -> None:
    text = """
operations:
  visit:
    fields: {user: {kind: integer, min: 0, max: 9}}
    steps:
      - {name: login, method: POST, path: "/login?u={user}", extract: {token: "json:access.token", id: "cookie:sid"}}
      - {name: look, path: "/look/{page}", think: 1s, fields: {page: {kind: integer, min: 1, max: 3}}}
      - {name: buy, path: /buy, headers: {X-Token: "{token}"}, think: {min: 0, max: 200ms}, expect: {json: {path: ok}}}
"""
    assert plan(text) == {
        "name": "visit",
        "weight": 1.0,
        "fields": {"user": {"kind": "integer", "min": 0, "max": 9}},
        "steps": [
            {
                "name": "login",
                "method": "POST",
                "path": "/login?u={user}",
                "extract": {"token": "json:access.token", "id": "cookie:sid"},
            },
            {
                "name": "look",
                "path": "/look/{page}",
                "fields": {"page": {"kind": "integer", "min": 1, "max": 3}},
                "think": {"min_s": 1.0, "max_s": 1.0},
            },
            {
                "name": "buy",
                "path": "/buy",
                "headers": {"X-Token": "{token}"},
                "expect": {"json": {"path": "ok"}},
                "think": {"min_s": 0.0, "max_s": 0.2},
            },
        ],
    }


def test_files_are_found_from_where_the_workload_is(tmp_path: Path) -> None:
    text = "operations: {get: {path: '/{a}', fields: {a: {kind: file, path: PATH}}}}"
    for given_path, found in {
        "a.txt": tmp_path / "a.txt",
        "data/a.txt": tmp_path / "data/a.txt",
        "/x/a": Path("/x/a"),
    }.items():
        field = plan(text.replace("PATH", given_path), str(tmp_path / "application.yaml"))["fields"]["a"]
        assert field == {"kind": "file", "path": str(found), "order": "random"}


def test_a_model_s_own_dump_keeps_its_paths_and_pauses(tmp_path: Path) -> None:
    text = """
operations:
  visit:
    steps:
      - {name: a, path: "/{f}", fields: {f: {kind: file, path: a.txt}}}
      - {name: b, path: /, think: {min: 500ms, max: 1m}, expect: {json: {path: a, equals: 1}}}
"""
    workload = Document(text, tmp_path / "application.yaml").parse(Workload)
    again = Workload.model_validate(workload.model_dump(by_alias=True, exclude_unset=True))
    assert operation_plan("visit", again.operations["visit"]) == operation_plan("visit", workload.operations["visit"])


def test_results_are_called_by_operation_and_step() -> None:
    text = "operations: {one: {path: /}, visit: {steps: [{name: a, path: /}, {name: b, path: /}]}}"
    assert Document(text, "w").parse(Workload).request_names() == ["one", "visit.a", "visit.b"]


def test_the_mix_that_the_generator_is_tested_with_is_that_of_hotel_reservation() -> None:
    mixed = catalogue.load("hotel-reservation").application.workloads["mixed"]
    wanted = [operation_plan(name, operation) for name, operation in mixed.operations.items()]
    assert json.loads(HOTEL_MIX.read_text()) == wanted, "write the new one: it is what this test compares with"


names = st.text("abcxyz_09", min_size=1, max_size=4).filter(lambda name: not name[0].isdigit())


@given(st.dictionaries(names, st.integers(-5, 5), max_size=4), st.lists(names, max_size=4))
def test_exactly_the_placeholders_without_a_field_are_named(fields: dict[str, int], used: list[str]) -> None:
    data = {
        "path": "/" + "/".join(f"{{{name}}}" for name in used),
        "fields": {name: {"kind": "integer", "min": low, "max": 5} for name, low in fields.items()},
    }
    operation = Operation.model_validate(yaml.safe_load(yaml.safe_dump(data)))
    named = [message.split("}")[0].lstrip("{") for _, message in operation.findings()]
    assert named == [name for name in used if name not in fields]
