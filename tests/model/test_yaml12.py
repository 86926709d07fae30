"""Texts that a reader of rendered files would take for something else."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from loadstone.model import yaml12


@pytest.mark.parametrize(
    "text",
    ["y", "N", "0o17", "0O17", "0X1F", "0B11", "-0o7", "1_0e5", "0_8", "9e_-1", "+_2", "2024-1-5", "2024-1-5 10:00:00"],
)
def test_what_readers_in_go_take_for_no_text_is_quoted(text: str) -> None:
    """Those of the command lines of Docker and Kubernetes: gopkg.in/yaml.v2 (``y``) and yaml.v3."""
    assert yaml12.dump({text: text}) == f"'{text}': '{text}'\n"
    assert yaml12.dump([text]) == f"['{text}']\n"


@pytest.mark.parametrize("text", ["yes-man", "1.25.3", "10.0.0.1", "2s", "no_underscore", "0.5-1.5", "-Xmx512m"])
def test_other_texts_are_written_plainly(text: str) -> None:
    assert yaml12.dump({text: text}) == f"{text}: {text}\n"


@given(st.text(st.sampled_from("a :-#\n\r\x85\u2028\u2029\t'\"")))
@example("\n")
@example("a\n\n")
def test_a_text_is_read_as_it_was_also_with_more_behind_it(text: str) -> None:
    for data in ({"a": text}, {"a": [text]}, {"a": {"b": text, "c": [text]}}):
        assert yaml.safe_load(yaml12.dump(data) + "\n" + yaml12.dump({"z": "end"})) == {**data, "z": "end"}
