"""Compose files on the command line: shown, planned, rendered; and what is not carried, reported each time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadstone.applications import catalogue
from loadstone.experiments import preflight
from tests.cli.conftest import RunCommand
from tests.support.plans import read_plan

COMPOSE = """\
services:
  web:
    image: nginx:1.25
    ports: ["80:80"]
    environment: {A: "08", B: "on", C: "1:30", D: "yes", E: ~, F: "two\\nlines\\n", G: "- x"}
    tty: true
  cache: {image: memcached, tty: true}
"""
STUDY = """\
version: 1
name: imported
application: ./docker-compose.yml
orchestrator: swarm
cluster: {infrastructure: namespaces}
load: {rates: [10], slo: {p99: 1s}}
"""
TTY = "docker-compose.yml:6: services.web.tty: not carried: it changes nothing in the container; also in line 7"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("E", raising=False)
    (tmp_path / "docker-compose.yml").write_text(COMPOSE)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def say(place: Path, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    return RunCommand(capsys)


def test_validate_prints_the_application_that_a_compose_file_becomes(say: RunCommand, place: Path) -> None:
    code, text, warnings = say("validate", "docker-compose.yml")
    assert code == 0
    assert f"warning: {TTY}" in warnings.splitlines()
    assert "warning: docker-compose.yml:7: services.cache.image: memcached:latest may be another image" in warnings
    (place / "application.yaml").write_text(text)
    assert (
        catalogue.load("application.yaml").application.model_dump()
        == catalogue.load("docker-compose.yml").application.model_dump()
    )
    message = f"{catalogue.load('application.yaml').application.name}, 2 services, 1 workload"
    assert say("validate", "application.yaml")[:2] == (0, f"application.yaml is valid: {message}\n")


def test_validate_as_json(say: RunCommand, place: Path) -> None:
    code, text, warnings = say("validate", "docker-compose.yml", "--json")
    assert (code, warnings) == (0, "")
    result = json.loads(text)
    assert result["valid"] is True
    assert list(result["application"]["services"]) == ["web", "cache"]
    assert result["application"]["services"]["web"]["environment"]["B"] == "on"
    assert (
        "docker-compose.yml:7: services.cache.tty: not carried: it changes nothing in the container" in result["notes"]
    )


def test_what_is_wrong_with_a_compose_file_is_bad_input(say: RunCommand, place: Path) -> None:
    (place / "docker-compose.yml").write_text(COMPOSE.replace("image: nginx:1.25", "build: ."))
    for arguments in (["validate", "docker-compose.yml"], ["validate", "study.yaml"], ["render", "docker-compose.yml"]):
        code, text, complaint = say(*arguments)
        assert (code, text) == (2, "")
        assert "docker-compose.yml:3: services.web.build: images are not built here" in complaint
    assert say("validate", "docker-compose.yml", "--set", "a=b")[0] == 2


def test_a_study_of_a_compose_file_tells_what_is_not_carried(say: RunCommand, place: Path) -> None:
    for verb in ("validate", "plan"):
        code, _, warnings = say(verb, "study.yaml")
        assert code == 0, warnings
        assert f"warning: {TTY}" in warnings.splitlines()
    _, plan = read_plan("study.yaml")
    assert (
        "docker-compose.yml:6: services.web.tty: not carried: it changes nothing in the container"
        in (plan.as_data()["notes"])
    )


def test_what_is_not_carried_stands_among_the_warnings_of_a_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "inspect", lambda plan, emulated_ok: preflight.Inspection([], plan.notes))
    _, plan = read_plan("study.yaml")
    assert TTY in preflight.require(plan).warnings


@pytest.mark.parametrize("orchestrator", ["compose", "swarm", "nomad", "kubernetes"])
def test_a_compose_file_is_rendered_for_every_orchestrator_of_containers(
    orchestrator: str,
    say: RunCommand,
    place: Path,
) -> None:
    code, text, warnings = say("render", "docker-compose.yml", "--orchestrator", orchestrator)
    assert code == 0, warnings
    assert "nginx:1.25" in text and "memcached:latest" in text
    assert f"warning: {TTY}" in warnings.splitlines()


def test_files_are_rendered_as_they_are_deployed(say: RunCommand, place: Path) -> None:
    script = "#!/bin/sh\nexec\tnginx  # :smile: [red]\n"
    (place / "start.sh").write_text(script)
    (place / "docker-compose.yml").write_text(
        "services: {web: {image: 'nginx:1', ports: ['80:80'], volumes: ['./start.sh:/start.sh:ro']}}\n"
    )
    code, text, complaint = say("render", "docker-compose.yml", "--orchestrator", "compose")
    assert code == 0, complaint
    assert script in text
    code, _, complaint = say("render", "docker-compose.yml", "--orchestrator", "compose", "-o", "files")
    assert code == 0, complaint
    (written,) = (place / "files" / "configs").rglob("*.sh")
    assert written.read_text() == script and written.stat().st_mode & 0o111 == 0o111, "it is mounted as it is"
    assert not (place / "files" / "compose.yaml").stat().st_mode & 0o111


def test_processes_cannot_run_it(say: RunCommand, place: Path) -> None:
    code, _, complaint = say("render", "docker-compose.yml")
    assert code == 2
    assert "orchestrator 'process' cannot run images" in complaint
    assert "choose compose or kubernetes or nomad or swarm" in complaint
