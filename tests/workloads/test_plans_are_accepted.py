"""Whatever the model lets pass, the load generator accepts: no study fails after its application was deployed."""

from __future__ import annotations

import json
import subprocess
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadstone.infrastructure.binary import stone_binary
from loadstone.model.errors import LoadstoneError
from loadstone.model.workload import Operation, operation_plan

WHOLE = st.integers(-(10**15), 10**15) | st.integers(-3, 3)
VALUES = st.lists(st.sampled_from(["x", "y", "ü", "a b", "z"]), min_size=1, max_size=3)
DAYS = st.integers(0, 40).map(lambda number: str(date(2016, 2, 20) + timedelta(number)))
FEW = st.integers(0, 5)
ALPHA = st.floats(0.001, 20)
DECIMALS = st.builds(lambda digits, places: digits / 10**places, st.integers(-(10**7), 10**7), st.integers(0, 9))
Data = dict[str, Any]


@st.composite
def limits(draw: st.DrawFn, numbers: st.SearchStrategy[Any], low: str = "min", high: str = "max") -> Data:
    drawn: list[Any] = [draw(numbers), draw(numbers)]
    return {low: min(drawn), high: max(drawn)}


@st.composite
def field(draw: st.DrawFn, known: Data) -> Data:
    """A field that may refer to those known."""
    kind = draw(st.sampled_from(["integer", "decimal", "choice", "zipf", "text", "sequence", "repeat", "date"]))
    names = st.sampled_from(sorted(known))
    alike = [name for name, other in known.items() if other["kind"] == kind]
    other = draw(st.sampled_from(alike)) if alike and draw(st.booleans()) else None
    given: Data = {"kind": kind}
    match kind:
        case "integer":
            given |= draw(limits(WHOLE)) | ({"not": other} if other else {})
        case "decimal":
            given |= draw(limits(DECIMALS)) | {"step": abs(draw(DECIMALS)) or 1.0}
        case "choice" if other:
            given |= {"values": known[other]["values"], "not": other}
        case "choice":
            given |= {"values": draw(VALUES)}
            if draw(st.booleans()):
                given["weights"] = [draw(st.floats(0.1, 9)) for _ in given["values"]]
        case "zipf":
            given |= {"alpha": draw(ALPHA), **draw(st.sampled_from([{"n": 3}, {"n": 10**12}, {"values": ["x", "y"]}]))}
        case "text":
            given |= draw(limits(FEW) | st.just({"length": 7}))
            given["alphabet"] = draw(st.sampled_from(["alnum", "lower", "digits", "hex", "words"]))
        case "sequence":
            given |= {"start": draw(WHOLE), "step": draw(FEW)}
        case "repeat" if known:
            given |= {"of": draw(names), "separator": draw(st.sampled_from([",", "\n"]))}
            given |= {"as_many_as": other} if other else draw(limits(FEW))
        case "date" if other:
            given |= {"after": other, **draw(limits(FEW, "min_days", "max_days"))}
            given |= draw(st.fixed_dictionaries({}, optional={"to": DAYS}))
        case "date":
            given |= draw(limits(DAYS, "from", "to"))
    return given


@st.composite
def request(draw: st.DrawFn, known: Data) -> Data:
    """A request that uses its fields and those known."""
    fields: Data = {}
    for name in draw(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=5)):
        if name not in known:
            fields[name] = draw(field({**known, **fields}))
    usable = [*known, *fields]
    used = draw(st.lists(st.sampled_from(usable), max_size=4)) if usable else []
    data: Data = {"path": "/" + "/".join(f"{{{name}}}" for name in used), "fields": fields}
    return data | draw(st.fixed_dictionaries({}, optional={
        "method": st.sampled_from(["GET", "POST", "HEAD"]),
        "headers": st.dictionaries(st.just("X-A"), st.sampled_from(["v", *(f"{{{name}}}" for name in used)])),
        "body": st.sampled_from(["", "{ not a field }", *(f"{{{name}}}" for name in used)]),
        "expect": EXPECT,
    }))  # fmt: skip


EXPECT = st.fixed_dictionaries(
    {},
    optional={
        "status": st.lists(st.integers(200, 599), min_size=1, max_size=2),
        "json": st.fixed_dictionaries(
            {"path": st.sampled_from(["a", "a.0.b", "ü.$"])},
            optional={"equals": st.none() | st.booleans() | st.integers() | st.text(max_size=3)},
        ),
        "min_bytes": FEW,
        "max_bytes": st.integers(5, 9),
    },
)


@st.composite
def session(draw: st.DrawFn) -> Data:
    shared = draw(request({}))["fields"]
    known: Data = dict(shared)
    steps: list[Data] = []
    for name in draw(st.permutations(["s", "t", "u"]))[: draw(st.integers(1, 3))]:
        step = {"name": name, **draw(request(known))}
        if steps and draw(st.booleans()):
            step["think"] = draw(st.sampled_from([0.0, 1.5]))
        if draw(st.booleans()):
            step["extract"] = {f"value_{name}": draw(st.sampled_from(["json:a.0", "header:X-A", "cookie:c"]))}
            known |= {f"value_{name}": {"kind": "extracted"}}
        steps.append(step)
    return {"fields": shared, "steps": steps}


OPERATION = request({}) | session()


def accepted(operations: list[Operation]) -> str:
    """What ``stone load`` has against a plan with these operations; nothing if it would begin."""
    plan = {
        "target": "http://127.0.0.1:1",  # no server listens there, which is found out only with a valid plan
        "arrival": {"process": "constant", "rate": 1},
        "duration_s": 0.001,
        "operations": [operation_plan(f"op{index}", operation) for index, operation in enumerate(operations)],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "plan.json")
        file.write_text(json.dumps(plan))
        command = [str(stone_binary()), "load", "--plan", str(file), "--out", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode == 2 else ""


def possible(data: dict[str, Any]) -> Operation | None:
    try:
        operation = Operation.model_validate(data)
    except (ValueError, LoadstoneError):
        return None
    return None if list(operation.findings()) else operation


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(OPERATION, min_size=1, max_size=8))
def test_every_operation_that_validates_is_accepted(given_operations: list[dict[str, Any]]) -> None:
    operations = [item for item in map(possible, given_operations) if item is not None]
    if operations:
        assert accepted(operations) == ""


def test_a_plan_that_is_not_accepted_is_noticed() -> None:
    wrong = Operation.model_validate({"path": "/{missing}"})
    assert "operations[0].path: {missing}" in accepted([wrong])
