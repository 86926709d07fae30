"""A wrong value is named with its option and what to give instead, whatever the verb."""

from __future__ import annotations

from pathlib import Path

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
        (["run", ""], "STUDY '': is empty; give STUDY, or leave it out"),
        (["report", ""], "RUN '': is empty; give RUN, or leave it out"),
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


NO_FILE = "is a folder; give the path of a file"
NO_APPLICATION = "is a folder without application.yaml or a compose file; give the path of a file"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["validate", "it"], f"it: {NO_FILE}"),
        (["plan", "it"], f"it: {NO_FILE}"),
        (["run", "it", "--shared-ok"], f"it: {NO_FILE}"),
        (["prepare", "it"], f"it: {NO_FILE}"),
        (["restore", "it"], f"it: {NO_FILE}"),
        (["init", "--har", "it"], f"it: {NO_FILE}"),
        (["init", "--openapi", "it"], f"it: {NO_FILE}"),
        (["init", "it"], f"it: {NO_APPLICATION}"),
        (["doctor", "it"], f"it: {NO_APPLICATION}"),
        (["up", "it"], f"it: {NO_APPLICATION}"),
        (["render", "it"], f"it: {NO_APPLICATION}"),
        (["load", "it", URL, "--rate", "5"], "it: is a folder; give the path of its application.yaml"),
        (["load", "it.yaml", URL, "--rate", "5"], f"it.yaml: {NO_APPLICATION}"),
        (["load", "it.lua", URL, "--rate", "5"], "it.lua: is a folder; give the path of a script"),
        (["load", URL, "--rate", "5", "--body", "@it"], f"--body @it: {NO_FILE}"),
        (["load", "https://h/", "--rate", "5", "--ca", "it"], "--ca: it: is a folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_folder_in_place_of_a_file_is_named(
    say: RunCommand, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    for name in ("it", "it.yaml", "it.lua"):
        (tmp_path / name).mkdir()
    code, result, error = say(*arguments)
    assert (code, result) == (2, "")
    assert complaint in error
