"""Documents: lines, overrides, and that no text does worse than being refused."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from loadstone.model import yaml12
from loadstone.model.application import Application
from loadstone.model.document import Document, schema
from loadstone.model.errors import InputError
from loadstone.model.study import Study

STUDY = """\
# A study
version: 1
name: a
application: hotel-reservation

load:
  rates:
    - 100
    - 200
  slo: {p99: 200ms}
"""


def test_aliases_that_multiply_are_refused_before_they_are_expanded() -> None:
    levels = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in pairwise("abcdefg")]
    text = "\n".join(levels)
    with pytest.raises(InputError, match=r"study\.yaml:\d+: .*its aliases .* add too many values"):
        Document(text, "study.yaml")


def test_aliases_that_repeat_a_part_are_fine() -> None:
    assert Document("a: &a {x: 1}\nb: [*a, *a]", "study.yaml").data["b"] == [{"x": 1}, {"x": 1}]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 2),
        (("name",), 3),
        (("load",), 6),
        (("load", "rates"), 7),
        (("load", "rates", 1), 9),
        (("load", "slo", "p99"), 10),
        (("load", "slo", "p50"), 10),
        (("nothing", "like", "it"), 2),
    ],
)
def test_the_line_of_a_key_or_of_what_holds_it(path: tuple[str | int, ...], line: int) -> None:
    assert Document(STUDY, "study.yaml").line(path) == line


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("true", True),
        ("0100", 100),
        ("0o17", "0o17"),
        ("1:30", "1:30"),
        ("2015-04-09", "2015-04-09"),
        ("1e3", 1000.0),
        ("1_000", "1_000"),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
    ],
)
def test_values_mean_what_yaml_1_2_says(written: str, value: object) -> None:
    assert Document(f"key: {written}\n", "f.yaml").data == {"key": value}


@given(st.text(alphabet="ab:-[]{}&|>'\"#,? \n019.", max_size=40))
def test_the_fast_reader_and_the_explaining_one_read_the_same(text: str) -> None:
    try:
        explained = yaml.compose(text, Loader=yaml12._Explaining)
    except yaml.YAMLError:
        return
    assert repr(yaml12.compose(text)) == repr(explained)


def test_a_tab_may_come_after_a_value() -> None:
    assert Document("a: 1\t\nb: 2 \t# two\n", "f.yaml").data == {"a": 1, "b": 2}


def test_a_million_brackets_are_refused() -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        Document("a: " + "[" * 1_000_000 + "]" * 1_000_000, "f.yaml")


def test_keys_are_text() -> None:
    assert Document("on: 1\n2: 3\n", "f.yaml").data == {"on": 1, "2": 3}


def test_an_anchor_may_be_used_again() -> None:
    assert Document("a: &x [1]\nb: *x\n", "f.yaml").data == {"a": [1], "b": [1]}


def test_overrides_replace_and_add() -> None:
    document = Document(STUDY, "study.yaml")
    for assignment in ["load.rates=[7]", "trial.duration=3s", "scaling=vertical", "load.slo.completed=98%"]:
        document.override(assignment)
    study = document.parse(Study)
    assert study.load.rates == [7]
    assert study.trial.duration == 3
    assert study.scaling == "vertical"
    assert study.load.slo is not None
    assert study.load.slo.completed == pytest.approx(0.98)


def test_all_factors_may_be_replaced_at_once_or_one() -> None:
    document = Document(STUDY, "study.yaml")
    document.override("factors={scaling: [baseline, vertical]}")
    document.override("factors.load.connections=[1, 2]")
    assert document.data["factors"] == {"scaling": ["baseline", "vertical"], "load.connections": [1, 2]}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("trial.duration", "--set 'trial.duration': expected KEY.KEY=VALUE, for example trial.duration=30s"),
        ("=5", "--set '=5': expected KEY.KEY=VALUE, for example trial.duration=30s"),
        ("load..rates=5", "--set 'load..rates=5': expected KEY.KEY=VALUE, for example trial.duration=30s"),
        ("name.first=b", "--set 'name.first=b': 'name' has no keys below it"),
        ("load.rates=[1", "--set load.rates=[1:1: not valid YAML: expected ',' or ']', but got '<stream end>'; "
         "a bracket is not closed"),
        ("trial.duration=3", "--set trial.duration=3: trial.duration: 3 has no unit; use us, ms, s, m, h, "
         "for example 200ms or 30s"),
        ("trail.duration=3s", "--set trail.duration=3s: trail: unknown key 'trail'; did you mean 'trial'?"),
        ("load.rates=[1, 1]", "--set load.rates=[1, 1]: load.rates.1: 1 is given twice; "
         "use trial.repetitions to repeat"),
    ],
)  # fmt: skip
def test_a_wrong_override_is_named_as_such(assignment: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        document = Document(STUDY, "study.yaml")
        document.override(assignment)
        document.parse(Study)
    assert str(caught.value) == message


def test_problems_come_in_the_order_of_the_file() -> None:
    text = STUDY.replace("name: a", "name: a b").replace("- 200", "- two") + "color: red\n"
    with pytest.raises(InputError) as caught:
        Document(text, "study.yaml").parse(Study)
    assert [problem.line for problem in caught.value.problems] == [3, 9, 11]


def _read(text: str) -> None:
    for model in (Study, Application):
        try:
            Document(text, "f.yaml").parse(model)
        except InputError as error:
            assert str(error).startswith("f.yaml:")
            for problem in error.problems:
                # YAML ends lines as Unix, Windows and old Macs do, and as Unicode may.
                assert 1 <= problem.line <= len(re.findall("\r\n|[\n\r\x85\u2028\u2029]", text)) + 1


@given(st.text(max_size=200))
def test_no_text_does_worse_than_being_refused(text: str) -> None:
    _read(text)


@example("---")
@example("x:\n---")
@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@,?~ \n\t019.", max_size=60))
def test_no_text_of_yaml_signs_does_worse_than_being_refused(text: str) -> None:
    _read(text)


def _keys(model_schema: dict[str, Any]) -> list[str]:
    objects = [model_schema, *model_schema.get("$defs", {}).values()]
    return sorted({key for found in objects for key in found.get("properties", {})} | {"p99", "geo"})


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(
    ["", "a", "5s", "0s", "99%", "1GiB", "/", "{a}", "baseline", "poisson", "hotel-reservation", "date"]
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_keys(schema(Study)) + _keys(schema(Application))), inner, max_size=5)
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(_keys(schema(Study))), TREES, max_size=8))
def test_no_tree_of_known_keys_does_worse_than_being_refused(tree: dict[str, Any]) -> None:
    _read(yaml.safe_dump(tree))


@given(st.sampled_from(["load", "factors", "except", "trial", "resources", "cluster"]), TREES)
def test_a_mutated_study_is_read_or_refused(key: str, tree: Any) -> None:
    _read(yaml.safe_dump(yaml.safe_load(STUDY) | {key: tree}))


def test_what_no_file_holds_names_its_source_and_no_line() -> None:
    document = Document.of({"version": 1, "name": "x", "load": {"rates": ["fast"]}}, "the command line")
    document.put(("cluster", "workers"), "many", "cluster.workers=many")
    with pytest.raises(InputError) as caught:
        document.parse(Study)
    text = str(caught.value)
    assert "the command line: load.rates.0: expected a number, not 'fast'" in text
    assert "--set cluster.workers=many: cluster.workers" in text
    assert "the command line:0" not in text and "the command line:1" not in text
