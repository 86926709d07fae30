"""Commands that fill and empty applications of images."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from loadstone.applications import catalogue, data_commands
from loadstone.model.application import DataCommands
from loadstone.model.errors import DeploymentError, InputError
from tests.support.plans import read_plan
from tests.support.users import wait

COMPOSE = """\
services:
  web: {image: "x/web:1", ports: [80]}
  db: {image: "mysql:8"}
x-loadstone: {seed: ./seed.sh, reset: ./seed.sh --reset, ready: curl -f $$LOADSTONE_ENTRY}
"""
FILE = """\
name: shop
entry: {service: web, port: http}
default_workload: get
services:
  web: {tier: frontend, runs: {image: "x/web:1"}, ports: {http: 80}}
data: {FOLDERseed: ./seed.sh}
workloads: {get: {operations: {get: {path: /}}}}
"""


def test_a_command_runs_in_its_folder_with_the_entry(tmp_path: Path) -> None:
    data_commands.run(DataCommands(folder=str(tmp_path)), "echo $LOADSTONE_ENTRY > entry", ["h:1", "i:2"])
    assert (tmp_path / "entry").read_text() == "h:1\n"


def test_a_command_that_fails_is_named_with_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"(?s)`echo no data; exit 3` ended with exit code 3.*no data"):
        data_commands.run(DataCommands(folder=str(tmp_path)), "echo no data; exit 3", ["h:1"])


def test_a_command_is_repeated_until_it_succeeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_commands, "_INTERVAL_S", 0.01)
    commands = DataCommands(folder=str(tmp_path))
    data_commands.wait(commands, "echo x >> tries; test $(wc -l < tries) = 3", ["h:1"])
    assert (tmp_path / "tries").read_text() == "x\nx\nx\n"
    monkeypatch.setattr(data_commands, "_WITHIN_S", 0.05)
    with pytest.raises(DeploymentError, match=r"after 0\.05 s still: `false` ended with exit code 1"):
        data_commands.wait(commands, "false", ["h:1"])


def ended(pid: int) -> bool:
    """Whether a process is gone, or waits for its parent to take notice."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_what_a_command_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_commands, "_FILLED_WITHIN_S", 0.3)
    with pytest.raises(DeploymentError, match=r"did not end within 0\.3 s"):
        data_commands.run(DataCommands(folder=str(tmp_path)), "sleep 100 & echo $! > pid; wait", ["h:1"])
    wait(lambda: ended(int((tmp_path / "pid").read_text())))


def test_the_folder_is_seen_from_the_application_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine" / "application.yaml"
    (file.parent / "data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for written, folder in (("", "mine"), ("folder: data, ", "mine/data")):
        file.write_text(FILE.replace("FOLDER", written))
        assert Path(catalogue.load("mine").application.data.folder) == tmp_path / folder
    file.write_text(FILE.replace("FOLDER", "folder: date, "))
    with pytest.raises(InputError, match=r"mine/application\.yaml:6: data\.folder: /.*date: there is no such folder"):
        catalogue.load("mine")


def test_commands_of_a_compose_file(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    loaded = catalogue.load(str(tmp_path))
    assert loaded.application.data == DataCommands(
        folder=str(tmp_path), seed="./seed.sh", reset="./seed.sh --reset", ready="curl -f $LOADSTONE_ENTRY"
    )
    assert not any("deployed anew" in note.message for note in loaded.notes)
    assert not loaded.application.keeps_data()


def test_the_digest_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    digests = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "compose.yaml").write_text(f"name: same\n{COMPOSE}")
        digests.append(catalogue.load(str(tmp_path / name)).digest)
    assert digests[0] == digests[1]


def test_an_application_that_is_seeded_has_no_commands(tmp_path: Path) -> None:
    text = (Path(catalogue.__file__).parent / "shop" / "application.yaml").read_text()
    (tmp_path / "application.yaml").write_text(f"{text}\ndata: {{reset: 'true'}}\n")
    with pytest.raises(InputError, match="'seeding' fills and empties the stores; remove one of the two"):
        catalogue.load(str(tmp_path / "application.yaml"))


def test_vertical_scaling_without_limits_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    study = tmp_path / "study.yaml"
    text = (
        "version: 1\nname: s\napplication: ./compose.yaml\norchestrator: swarm\ncluster: {infrastructure: namespaces}\n"
    )
    study.write_text(f"{text}factors: {{scaling: [baseline, vertical]}}\nload: {{rates: [1], slo: {{p99: 1s}}}}\n")
    message = "factors.scaling.1: vertical equals baseline: no service has limits that could be doubled"
    assert any(message in str(note) for note in read_plan(study)[1].notes)
    study.write_text(f"{study.read_text()}resources: {{web: {{cpu: 1}}}}\n")
    message = "vertical leaves db as they are: they have no limits that could be doubled"
    assert any(message in str(note) for note in read_plan(study)[1].notes)
