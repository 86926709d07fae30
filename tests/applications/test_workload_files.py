"""Files that a workload's fields take values from."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.applications import catalogue
from loadstone.model.errors import InputError
from loadstone.model.workload import operation_plan

APPLICATION = """\
name: tiny
entry: {service: web, port: http}
default_workload: get
services:
  web: {tier: frontend, runs: {stone: hotel/frontend}, ports: {http: 5000}}
workloads:
  get:
    operations:
      get:
        path: /{title}
        fields:
          title: {kind: file, path: titles.csv, column: title}
      visit:
        steps:
          - name: look
            path: /{page}
            fields:
              page: {kind: file, path: pages.txt}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "application.yaml").write_text(APPLICATION)
    (tmp_path / "titles.csv").write_text("id,title\n1,Ran\n")
    (tmp_path / "pages.txt").write_text("a\nb\n")
    return tmp_path


def complaint(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        catalogue.load(str(folder))
    return str(caught.value).replace(f"{folder}/", "")


def test_the_plan_has_absolute_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    loaded = catalogue.load(f"{folder.name}/application.yaml")
    plan = operation_plan("get", loaded.application.workloads["get"].operations["get"])
    assert plan["fields"]["title"]["path"] == str(folder / "titles.csv")


def test_a_file_that_is_not_there_is_named_with_its_line(folder: Path) -> None:
    (folder / "titles.csv").unlink()
    (folder / "pages.txt").unlink()
    (folder / "pages.txt").mkdir()
    where = "application.yaml:{}: workloads.get.operations.{}.path: {}; paths are relative to the application file"
    assert complaint(folder).splitlines() == [
        where.format(12, "get.fields.title", "titles.csv: there is no such file"),
        where.format(18, "visit.steps.0.fields.page", "pages.txt: is not a file"),
    ]


def test_a_column_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "titles.csv").write_text("id,titel\n1,Ran\n")
    key = "application.yaml:12: workloads.get.operations.get.fields.title.path"
    assert complaint(folder) == f"{key}: titles.csv:1: no column 'title'; did you mean 'titel'?"
    (folder / "titles.csv").write_text("")
    assert complaint(folder) == f"{key}: titles.csv:1: no column 'title'; known: none"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("x" * 200_000, ":1: not CSV: field larger than field limit (131072)"),
        ("id,title\n", ": has no values"),
        ("\ntitle,title\n1,2\n", ":2: the column 'title' is there 2 times; rename others"),
        ("id,title\n1,Ran\n2\n", ":3: has 1 values for 2 columns"),
        ("id,title\n1,Ran\n\n2,\n", ":4: the value is empty; remove the line"),
        ('id,title\n1,"a\nb"\n', ":3: the value has a control character (0x0a)"),
    ],
)
def test_a_column_that_no_request_can_carry(folder: Path, content: str, says: str) -> None:
    (folder / "titles.csv").write_text(content)
    key = "application.yaml:12: workloads.get.operations.get.fields.title.path"
    assert complaint(folder) == f"{key}: titles.csv{says}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ": has no values"),
        (b"a\n\nb\n", ":2: the value is empty; remove the line"),
        (b"a\r\nb\x00\n", ":2: the value has a control character (0x00)"),
        (b"a\nb\rc\n", ":2: the value has a control character (0x0d)"),
        (b"a\n" + b"x" * (2**20 + 1), ":2: the value has 1,048,577 characters; at most 1,048,576"),
    ],
)
def test_a_line_that_no_request_can_carry(folder: Path, content: bytes, says: str) -> None:
    (folder / "pages.txt").write_bytes(content)
    key = "application.yaml:18: workloads.get.operations.visit.steps.0.fields.page.path"
    assert complaint(folder) == f"{key}: pages.txt{says}"


def test_lines_may_end_as_on_windows_or_not_at_all(folder: Path) -> None:
    (folder / "pages.txt").write_bytes("\ufeffa b\r\n\tü\nc".encode())
    assert catalogue.load(str(folder)).application.name == "tiny"


def test_a_byte_order_mark_is_no_part_of_a_column_s_name(folder: Path) -> None:
    (folder / "titles.csv").write_text("\ufefftitle,id\nRan,1\n", encoding="utf-8")
    assert catalogue.load(str(folder)).application.name == "tiny"


def test_a_file_that_is_too_large_is_refused(folder: Path) -> None:
    with (folder / "pages.txt").open("r+b") as file:
        file.truncate(100_000_001)  # sparse: it takes no room
    key = "application.yaml:18: workloads.get.operations.visit.steps.0.fields.page.path"
    assert complaint(folder) == f"{key}: pages.txt: has 100,000,001 bytes; at most 100,000,000 are read"


def test_the_digest_is_of_what_files_hold_not_where_they_are(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for file in folder.iterdir():
        (elsewhere / file.name).write_bytes(file.read_bytes())
    first, second = catalogue.load(str(folder)).digest, catalogue.load(str(elsewhere)).digest
    (elsewhere / "pages.txt").write_text("a\nc\n")
    assert first == second != catalogue.load(str(elsewhere)).digest


def test_a_check_may_name_a_step(folder: Path) -> None:
    file = folder / "application.yaml"
    file.write_text(APPLICATION + "checks: [{store: web, collection: things, operation: look}]\n")
    assert catalogue.load(str(folder)).application.checks[0].operation == "look"
    file.write_text(APPLICATION + "checks: [{store: web, collection: things, operation: visit}]\n")
    expected = "application.yaml:19: checks.0.operation: no workload has an operation 'visit'; known: get, look"
    assert complaint(folder) == expected
