"""A wrong value is named with its option and what to give instead, whatever the verb."""

from __future__ import annotations

import pytest

from tests.cli.conftest import RunCommand

URL = "http://127.0.0.1:8080/"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["load", URL, "--rate", "1k"], "--rate '1k': is no number; write digits alone, for example 1000"),
        (["load", URL, "--rate", ""], "--rate '': is no number; write digits alone"),
        (["load", URL, "--closed", "1.5"], "--closed '1.5': is no whole number; write digits alone, for example 4"),
        (["load", URL, "--rate", "5", "--pipelining", "two"], "--pipelining 'two': is no whole number"),
        (["up", "hotel-reservation", "--workers", "3x"], "--workers '3x': is no whole number"),
        (["load", URL, "--rate", "5", "--out", ""], "--out '': is empty; give DIR, or leave the option out"),
        (["load", URL, "--rate", "5", "--out="], "--out '': is empty; give DIR, or leave the option out"),
        (["run", "study.yaml", "--results", ""], "--results '': is empty; give DIR, or leave the option out"),
        (["validate", ""], "FILE '': is empty; give FILE"),
        (["plan", ""], "STUDY '': is empty; give STUDY"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_value_is_named_with_its_remedy(say: RunCommand, arguments: list[str], complaint: str) -> None:
    code, result, error = say(*arguments)
    assert (code, result) == (2, "")
    assert error.startswith(f"error: {complaint}")


def test_what_is_no_value_is_explained_as_before(say: RunCommand) -> None:
    assert say("load", URL, "--nope", "3")[0] == 2
    code, _, error = say("load", URL, "--rate", "5", "--body", "", "--arrival", "")
    assert code == 2 and "--arrival" in error and "--body" not in error
