"""Texts that a reader of rendered files would take for something else."""

from __future__ import annotations

import pytest

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
