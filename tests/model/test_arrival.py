"""Arrival processes: what a study may write, the errors of mistakes, and the resulting plan."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.infrastructure.binary import stone_binary
from loadstone.model.arrival import Arrival, ArrivalProcess, arrival_plan, shape_seconds
from loadstone.model.base import Finding, Model
from loadstone.model.document import Document
from loadstone.model.errors import InputError


class Example(Model):
    """The part of a study that has an arrival process."""

    arrival: Arrival = "poisson"

    def findings(self) -> Iterator[Finding]:
        if isinstance(self.arrival, ArrivalProcess):
            yield from ((("arrival", *path), text) for path, text in self.arrival.findings())


def read(written: str) -> Arrival:
    """What a study file with this arrival gives."""
    return Document(f"arrival: {written}", "study.yaml").parse(Example).arrival


PLANS: dict[str, dict[str, Any]] = {
    "poisson": {"process": "poisson", "rate": 300},
    "constant": {"process": "constant", "rate": 300},
    "zipf": {"process": "zipf", "rate": 300},
    "{process: poisson}": {"process": "poisson", "rate": 300},
    "{process: zipf, n: 50, alpha: 1.5}": {"process": "zipf", "rate": 300, "n": 50, "alpha": 1.5},
    "{process: on-off, on: 200ms, off: 1m}": {"process": "on-off", "rate": 300, "on_s": 0.2, "off_s": 60},
    "{process: mmpp, states: [{factor: 0, dwell: 2s}, {factor: 2.5, dwell: 1ms}]}": {
        "process": "mmpp",
        "rate": 300,
        "states": [{"factor": 0, "dwell_s": 2}, {"factor": 2.5, "dwell_s": 0.001}],
    },
    "{process: replay, file: t.csv}": {"process": "replay", "rate": 300, "file": "t.csv"},
    "{process: replay, file: t.csv, column: time, speed: 2}": {
        "process": "replay",
        "file": "t.csv",
        "column": "time",
        "speed": 2,
    },
    "{process: constant, shape: [{for: 10s, from: 0, to: 1}, {for: 500ms, rate: 0}, "
    "{for: 1m, mean: 1, amplitude: -1, period: 5s}]}": {
        "process": "constant",
        "rate": 300,
        "shape": [
            {"for_s": 10, "from": 0, "to": 1},
            {"for_s": 0.5, "rate": 0},
            {"for_s": 60, "mean": 1, "amplitude": -1, "period_s": 5},
        ],
    },
}


@pytest.mark.parametrize("written", PLANS)
def test_the_plan_of_what_a_study_writes(written: str) -> None:
    assert arrival_plan(read(written), 300) == PLANS[written]


def test_the_generator_takes_every_plan(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time\n" + "".join(f"{n / 10}\n" for n in range(3000)))
    for plan in PLANS.values():
        whole = {
            "target": "http://127.0.0.1:9",
            "arrival": {**plan, "rate": 10} if "rate" in plan else plan,
            "duration_s": sum(phase["for_s"] for phase in plan.get("shape", [])) or 100,
            "operations": [{"name": "home", "path": "/"}],
        }
        (tmp_path / "plan.json").write_text(json.dumps(whole))
        command = [stone_binary(), "load", "--plan", "plan.json", "--out", "out"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "not reachable" in ended.stderr, (plan, ended.stderr)  # not: a mistake in the plan


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("posson", "'posson' is no arrival process; did you mean 'poisson'?"),
        ("pareto", "'pareto' is no arrival process; known: constant, mmpp, on-off, poisson, replay, zipf"),
        ("on-off", "'on-off' needs keys; write {process: on-off, on: 1s, off: 1s}"),
        ("mmpp", "'mmpp' needs keys; write {process: mmpp, states: [{factor: 1, dwell: 2s}, {factor: 4, dwell: 1s}]}"),
        ("replay", "'replay' needs keys; write {process: replay, file: trace.csv}"),
        ("5", "5 is not known here; use 'poisson', 'constant' or 'zipf'"),
        ("[poisson]", "a list is not known here; use 'poisson', 'constant' or 'zipf'"),
        ("{on: 1s}", "'process' is missing"),
        (
            "{process: onoff}",
            "'onoff' is no 'process' known here; use 'constant', 'poisson', 'zipf', 'on-off', 'mmpp', 'replay'",
        ),
    ],
)
def test_what_is_no_arrival_process(written: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(written)
    assert str(caught.value) == f"study.yaml:1: arrival: {message}"


@pytest.mark.parametrize(
    ("written", "key", "message"),
    [
        ("{process: poisson, n: 3}", "n", "unknown key 'n'; known: process, shape"),
        ("{process: zipf, n: 0}", "n", "0 is too small; it must be at least 1"),
        ("{process: zipf, alpha: -1}", "alpha", "-1 is too small; it must be at least 0"),
        ("{process: on-off, on: 1s}", "off", "is missing; for example 'off': 1s"),
        ("{process: on-off, on: 1, off: 1s}", "on", "1 has no unit; use us, ms, s, m, h, for example 200ms or 30s"),
        (
            "{process: on-off, on: 1s, off: 10us}",
            "off",
            "0.01ms is shorter than a load generator can offer; at least 1ms",
        ),
        ("{process: mmpp}", "states", "is missing"),
        (
            "{process: mmpp, states: [{factor: 1, dwell: 1s}]}",
            "states",
            "1 given; mmpp needs at least two, one alone is poisson",
        ),
        (
            "{process: mmpp, states: [{factor: 0, dwell: 1s}, {factor: 0, dwell: 1s}]}",
            "states",
            "every factor is 0; give one that is not",
        ),
        (
            "{process: mmpp, states: [{factor: 1, dwell: 1s}, {factor: -1, dwell: 1s}]}",
            "states.1.factor",
            "-1 is too small; it must be at least 0",
        ),
        ("{process: replay}", "file", "is missing; for example file: trace.csv"),
        ("{process: replay, file: t, column: ''}", "column", "'' cannot be used; use the name of a column"),
        ("{process: replay, file: t, speed: 0}", "speed", "0 is too small; it must be more than 0"),
        ("{process: replay, file: t, shape: []}", "shape", "unknown key 'shape'; did you mean 'speed'?"),
    ],
)
def test_wrong_keys_of_a_process(written: str, key: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(written)
    assert str(caught.value) == f"study.yaml:1: arrival.{key}: {message}"


KINDS = "give rate (steady), or from and to (ramp), or mean, amplitude and period (sine)"


@pytest.mark.parametrize(
    ("phase", "key", "message"),
    [
        ("{rate: 1}", ".0.for", "is missing; for example for: 10s"),
        ("{for: 1s}", ".0", f"has only 'for'; {KINDS}"),
        ("{for: 1s, from: 1}", ".0", f"has from; {KINDS}"),
        ("{for: 1s, rate: 1, to: 1}", ".0", f"has rate, to; {KINDS}"),
        ("{for: 1s, mean: 1, period: 1s}", ".0", f"has mean, period; {KINDS}"),
        ("{for: 1s, rate: -1}", ".0.rate", "-1 is too small; it must be at least 0"),
        ("{for: 1s, mean: 0, amplitude: 0, period: 1s}", ".0.mean", "0 is too small; it must be at least 1e-06"),
        (
            "{for: 1s, mean: 1, amplitude: 2, period: 1s}",
            ".0.amplitude",
            "2 is more than the mean, 1: the rate would fall below 0",
        ),
        ("{for: 1s, rate: 0}, {for: 1s, from: 0, to: 0}", "", "the rate is 0 all the time; give a phase that sends"),
        ("", "", "is empty; it needs at least 1 entry"),
    ],
)
def test_wrong_phases(phase: str, key: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(f"{{process: poisson, shape: [{phase}]}}")
    assert str(caught.value) == f"study.yaml:1: arrival.shape{key}: {message}"


def test_the_length_of_a_shape() -> None:
    assert shape_seconds(read("{process: zipf, shape: [{for: 1500ms, rate: 1}, {for: 1m, from: 1, to: 0}]}")) == 61.5
    assert [shape_seconds(read(plain)) for plain in ("poisson", "{process: zipf}", "{process: replay, file: t}")] == (
        [None] * 3
    )


def test_it_reads_as_its_name_and_what_was_given() -> None:
    written = ("zipf", "{process: zipf}", "{process: zipf, shape: [{for: 1s, rate: 1}], n: 3}")
    assert [str(read(item)) for item in written] == ["zipf", "zipf", "zipf with shape, n"]


factors = st.floats(0.01, 100)
spans = st.integers(1, 10**6).map(lambda ms: ms / 1000)
phases = st.one_of(
    st.fixed_dictionaries({"for": spans, "rate": factors}),
    st.fixed_dictionaries({"for": spans, "from": factors, "to": factors}),
    factors.flatmap(
        lambda mean: st.fixed_dictionaries(
            {"for": spans, "mean": st.just(mean), "amplitude": st.floats(-mean, mean), "period": spans}
        )
    ),
)
states = st.fixed_dictionaries({"factor": factors, "dwell": spans})
shapes = {"shape": st.lists(phases, min_size=1, max_size=4)}
processes = st.one_of(
    st.fixed_dictionaries({"process": st.sampled_from(["poisson", "constant"])}, optional=shapes),
    st.fixed_dictionaries(
        {"process": st.just("zipf")}, optional={"n": st.integers(1, 10**6), "alpha": st.floats(0, 100), **shapes}
    ),
    st.fixed_dictionaries({"process": st.just("on-off"), "on": spans, "off": spans}, optional=shapes),
    st.fixed_dictionaries({"process": st.just("mmpp"), "states": st.lists(states, min_size=2)}, optional=shapes),
    st.fixed_dictionaries(
        {"process": st.just("replay"), "file": st.text()},
        optional={"column": st.from_regex(r"[a-z ]+", fullmatch=True), "speed": factors},
    ),
    st.sampled_from(["poisson", "constant", "zipf"]),
)


@given(processes)
def test_a_process_survives_writing_and_reading(arrival: Any) -> None:
    example = Example.model_validate({"arrival": arrival})
    assert list(example.findings()) == []
    written = json.dumps(example.model_dump(mode="json", by_alias=True))
    again = Example.model_validate_json(written, strict=True, context={"file": "study.yaml"})
    assert _nearly(arrival_plan(again.arrival, 7), arrival_plan(example.arrival, 7))


def _nearly(item: Any, other: Any) -> bool:
    """Equal, apart from the nanosecond to which durations are written."""
    if isinstance(item, dict):
        return set(item) == set(other) and all(_nearly(item[key], other[key]) for key in item)
    if isinstance(item, list):
        return len(item) == len(other) and all(map(_nearly, item, other))
    return bool(item == other if isinstance(item, str) else abs(item - other) < 1e-9 + 1e-12 * abs(other))
