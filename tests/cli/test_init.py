"""``loadstone init`` writes studies that are valid as they are."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from loadstone.cli import init
from loadstone.experiments.durable import write_text
from tests.cli.conftest import RunCommand
from tests.support.plans import read_plan

COMPOSE = """services:
  web:
    image: nginx:1.25
    ports: ["8080:80"]
x-loadstone:
  default_workload: home
  workloads:
    home: {operations: {home: {path: /}}}
    search: {operations: {search: {path: /search}}}
"""


@pytest.fixture
def compose(tmp_path: Path) -> Path:
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    return tmp_path


def test_the_compose_file_of_the_folder_becomes_a_study_that_is_valid(say: RunCommand, compose: Path) -> None:
    code, text, complaint = say("init")
    assert code == 0, complaint
    assert "next: loadstone doctor study.yaml, then loadstone run study.yaml" in text
    first, *_ = (compose / "study.yaml").read_text().splitlines()
    assert first == "# yaml-language-server: $schema=study.schema.json"
    assert "capacity" in json.loads((compose / "study.schema.json").read_text())["$defs"]["Load"]["properties"]
    code, text, complaint = say("validate", "study.yaml")
    assert code == 0, complaint
    assert "searches the capacity under P99 <= 200ms, 99 % completed" in text
    code, _, complaint = say("init")
    assert code == 2 and "study.yaml exists; choose another file" in complaint


def test_options_and_folders_are_followed(say: RunCommand, compose: Path) -> None:
    options = ("--orchestrator", "nomad", "--p99", "50ms", "--workload", "search", "-o", "studies/web.yaml")
    code, _, complaint = say("init", "compose.yaml", *options)
    assert code == 0, complaint
    study = read_plan(compose / "studies" / "web.yaml")[1].study
    assert (study.application, study.workload, study.orchestrator) == ("./../compose.yaml", "search", "nomad")
    assert study.load.capacity is not None and study.load.capacity.slo.limits == {99.0: 50.0}


def test_a_built_in_application_runs_as_processes(say: RunCommand, tmp_path: Path) -> None:
    assert say("init", "hotel-reservation")[0] == 0
    study = read_plan(tmp_path / "study.yaml")[1].study
    assert (study.application, study.orchestrator, study.cluster.infrastructure) == (
        "hotel-reservation",
        "process",
        "local",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no compose file in this folder; name one, the address of a server (http://host:port), or a built-in"),
        (("hotel",), "no application 'hotel'"),
        (("127.0.0.1:80/a",), "'127.0.0.1:80/a' has no scheme; write http://127.0.0.1:80/a"),
        (("localhost:80",), "'localhost:80' has no scheme; write http://localhost:80"),
        (("ftp://h/",), "'ftp://h/' is not an address; write it like http://127.0.0.1:8080"),
        (("hotel-reservation", "--p99", "5"), "error: --p99: '5' has no unit"),
        (("hotel-reservation", "--workload", "mixd"), "error: --workload: hotel-reservation has no workload 'mixd'"),
        (("hotel-reservation", "--orchestrator", "k8s"), "did you mean 'kubernetes'?"),
        (("",), "'': is empty; give"),
        (("hotel-reservation", "--p99", ""), "error: --p99: '' is not a duration"),
        (("hotel-reservation", "--workload", ""), "error: --workload: hotel-reservation has no workload ''"),
        (("hotel-reservation", "--orchestrator", ""), "no '' in orchestrators"),
        (("http://h", "--workload", ""), "error: --workload: "),
        (("hotel-reservation", "-o", "a" * 300), "a: File name too long\n  choose another place"),
    ],
)
def test_what_makes_no_study_writes_none(
    say: RunCommand, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, _, complaint = say("init", *arguments)
    assert code == 2 and message in complaint
    assert not (tmp_path / "study.yaml").exists()


def test_on_a_terminal_there_are_four_questions(
    say: RunCommand, compose: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[tuple[str, str]] = []

    def prompt(question: str, default: str, **kinds: Any) -> str:
        questions.append((question, default))
        return "75ms" if "99 %" in question else default

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(init.typer, "prompt", prompt)
    code, _, complaint = say("init")
    assert code == 0, complaint
    assert [default for _, default in questions] == ["compose.yaml", "compose", "home", "200ms"]
    assert "p99: 75ms" in (compose / "study.yaml").read_text()


def test_a_question_that_is_interrupted_ends_it(
    say: RunCommand, compose: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prompt(question: str, **kinds: Any) -> str:
        raise init.typer.Abort

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(init.typer, "prompt", prompt)
    assert say("init") == (130, "", "interrupted; nothing was written\n")
    assert not (compose / "study.yaml").exists()


def test_images_of_others_are_pulled_by_the_engine_that_is_there(say: RunCommand, compose: Path) -> None:
    assert say("init")[0] == 0
    study = read_plan(compose / "study.yaml")[1].study
    assert (study.orchestrator, study.cluster.infrastructure) == ("compose", "existing")


def test_a_study_that_cannot_be_written_leaves_no_workload(
    say: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "api.yaml").write_text("openapi: 3\npaths: {/a: {get: {}}}\n")

    def full(path: Path, text: str) -> None:
        if path.name == "study.yaml":
            raise OSError(errno.ENOSPC, "No space left on device")
        write_text(path, text)

    monkeypatch.setattr("loadstone.cli.init.write_text", full)
    code, _, complaint = say("init", "http://h", "--openapi", "api.yaml")
    assert code == 1 and "cannot write study.yaml: No space left on device" in complaint
    assert not list(tmp_path.glob("study*.yaml"))
