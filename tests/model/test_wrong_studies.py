"""Every way to get a study file wrong that a user has found or will: one clear message for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.study import Study
from tests.model.wrong_files import Case, cases, table

TABLE = cases(table("wrong-studies.txt"))

FIRST_LINES = b"version: 1\nname: a\napplication: hotel-reservation\n"
BYTES = {
    "no bytes": (b"", ":1: the file is empty"),
    "a tab as indentation": (
        FIRST_LINES + b"load:\n\trates: [100]\n",
        ":5: not valid YAML: found character '\\t' that cannot start any token; indent with spaces, not tabs",
    ),
    "Latin-1": (FIRST_LINES + b"description: caf\xe9\n", ":4: byte 0xe9 is no UTF-8 text; save the file as UTF-8"),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00", ":1: byte 0x89 is no UTF-8 text; save the file as UTF-8"),
    "a zero byte": (FIRST_LINES + b"description: a\x00b\n", ":4: not valid YAML: special characters are not allowed"),
    "an open quote": (
        FIRST_LINES + b'description: "open\n',
        ":5: not valid YAML: found unexpected end of stream; a quote is not closed",
    ),
    "a colon in a text": (
        FIRST_LINES + b"description: load: heavy\n",
        ":4: not valid YAML: mapping values are not allowed here; put a text that has ': ' in it in quotes",
    ),
    "a thousand brackets": (b"load: " + b"[" * 5000, ":1: is nested too deeply, or refers to itself"),
    "a number without end": (
        b"version: " + b"9" * 5000 + FIRST_LINES[10:] + b"load: {rates: [1], slo: {p99: 1s}}",
        ":1: version: '" + "9" * 56 + "... is not known here; use 1",
    ),
}


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name.replace(" ", "-"))
def test_a_wrong_study_is_answered_with_exactly_these_messages(case: Case) -> None:
    with pytest.raises(InputError) as caught:
        Document(case.text, "study.yaml").parse(Study)
    assert str(caught.value).splitlines() == case.messages
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", BYTES)
def test_a_file_that_is_no_yaml_text(name: str, tmp_path: Path) -> None:
    content, message = BYTES[name]
    file = tmp_path / "study.yaml"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        Document.read(file).parse(Study)
    assert str(caught.value) == f"{file}{message}"


def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml: cannot be read: No such file or directory"):
        Document.read(tmp_path / "nowhere.yaml")
    with pytest.raises(InputError, match="is a folder; give the path of a file"):
        Document.read(tmp_path)


def test_the_table_has_every_case_once() -> None:
    names = [case.name for case in TABLE]
    assert len(names) == len(set(names)) >= 85
    assert all(case.messages for case in TABLE)
