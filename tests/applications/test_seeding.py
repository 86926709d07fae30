"""The input of ``stone seed`` and the use of its output; another program takes its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.applications import stone_seed
from loadstone.applications.seeding import Seeder, numbers
from loadstone.infrastructure.local import Local
from loadstone.model.application import Application
from loadstone.model.cluster import Cluster
from loadstone.model.document import Document
from loadstone.model.errors import DeploymentError, InputError
from tests.orchestration.conftest import deployed

APPLICATION = """\
name: tiny
entry: {service: frontend, port: http}
seeding: social
default_dataset: small
datasets: {small: {users: 3}}
services:
  frontend: {tier: frontend, runs: {stone: social/frontend}, ports: {http: 8080}}
  user: {tier: logic, runs: {stone: social/user}, ports: {thrift: 9101}}
  documents-user: {tier: storage, runs: {documents: true}}
  redis-timeline: {tier: caching, runs: {software: redis}, replicas: 2}
  memcached-user: {tier: caching, runs: {software: memcached}, replicas: 2}
workloads: {mixed: {operations: {get: {path: /}}}}
default_workload: mixed
"""


class Placed:
    """An orchestrator that knows addresses: of each service's replicas 10.0.0.1:PORT, 10.0.0.2:PORT ..."""

    password = "hunter2"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.deployment: Any = None

    def runs_containers(self) -> bool:
        return False

    def inside(self) -> None:
        """None: seeding runs on this machine."""

    def inner(self, service: str, port: str) -> list[str]:
        return [f"10.0.0.{item.index}:{item.ports[port]}" for item in self.deployment.of(service)]


def seeder(folder: Path, script: str, text: str = APPLICATION, **dataset: Any) -> Seeder:
    """A seeder whose ``stone`` is this shell script; it is called as ``stone seed social --plan - [FLAG]``."""
    stone = folder / "stone"
    stone.write_text(f"#!/bin/sh\n{script}\n")
    stone.chmod(0o755)
    application = Document(text, "application.yaml").parse(Application)
    orchestrator = Placed(folder)
    orchestrator.deployment = deployed(application, Local(Cluster()).sketch("process", 0), "tiny")
    return Seeder(stone, application, orchestrator, orchestrator.deployment, dataset)  # type: ignore[arg-type]


def test_each_set_of_stores_has_a_plan_of_its_own(tmp_path: Path) -> None:
    seeder(tmp_path, "echo '{\"stores\": []}'", users=3).counts()
    first, second = (json.loads((tmp_path / f"seed-{index}.json").read_text()) for index in (1, 2))
    assert first == {
        "stores": {"documents-user": "postgres://postgres@10.0.0.1:5432/postgres?sslmode=disable"},
        "caches": {"memcached-user": "10.0.0.1:11211,10.0.0.2:11211"},
        "profile": "",
        "redis": {"redis-timeline": "10.0.0.1:6379"},
        "dataset": {"users": 3},
        "entry": ["10.0.0.1:8080"],
    }
    assert second["redis"] == {"redis-timeline": "10.0.0.2:6379"}


def test_the_password_of_the_stores_is_given_and_not_kept(tmp_path: Path) -> None:
    seeder(tmp_path, f"cat \"$4\" >{tmp_path}/given; echo '{{}}'").seed()
    assert json.loads((tmp_path / "given").read_text())["password"] == "hunter2"
    assert "hunter2" not in (tmp_path / "seed-1.json").read_text()


MOVED = """\
case $(cat "$4") in *10.0.0.9*) echo '{"stores": []}' ;; *) echo "refused" >&2; exit 1 ;; esac
"""


def test_a_store_that_was_put_elsewhere_meanwhile_is_filled_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = iter(["10.0.0.1"] * 5 + ["10.0.0.9"] * 50)
    monkeypatch.setattr(Placed, "inner", lambda *_: [f"{next(hosts)}:1"])
    seeder(tmp_path, MOVED).seed()
    assert "10.0.0.9" in (tmp_path / "seed-1.json").read_text()


def test_a_store_that_stays_where_it_is_is_not_tried_again(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="refused"):
        seeder(tmp_path, f"echo again >>{tmp_path}/tries; {MOVED}").seed()
    assert (tmp_path / "tries").read_text() == "again\n"


def test_while_only_stores_run_there_is_no_entry(tmp_path: Path) -> None:
    seeder(tmp_path, "echo '{}'").seed()
    assert "entry" not in json.loads((tmp_path / "seed-1.json").read_text())


def test_counts_are_by_the_service_that_is_the_store(tmp_path: Path) -> None:
    rows = [
        {"store": "user", "collection": "user", "have": 3},
        {"store": "redis-timeline", "collection": "posts", "have": 5},
    ]
    counts = seeder(tmp_path, f"echo '{json.dumps({'stores': rows})}'").counts()
    assert counts[("documents-user", "user")] == 6 and counts[("redis-timeline", "posts")] == 10


def test_progress_is_reported_in_steps_of_ten_per_cent_and_the_other_lines_are_the_error(tmp_path: Path) -> None:
    text: list[str] = []
    script = "\n".join(
        [
            *(f'echo \'{{"done": {done}, "of": 962, "what": "users"}}\' >&2' for done in (0, 50, 384, 385, 480, 962)),
            "echo '{not progress' >&2; echo 'stone seed: the store is full' >&2; exit 1",
        ]
    )
    with pytest.raises(DeploymentError) as caught:
        seeder(tmp_path, script).seed(text.append)
    assert text == ["seeding: users 30 %", "seeding: users 40 %", "seeding: users 100 %"]
    assert str(caught.value) == "seeding tiny failed: {not progress\nstone seed: the store is full"


def test_an_end_without_words_says_its_code(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"seeding tiny failed: stone seed ended with exit code 7$"):
        seeder(tmp_path, "exit 7").reset()


SINGLE = APPLICATION.replace("{software: redis}, replicas: 2", "{software: redis}")
"""No store has replicas that do not know each other."""


def test_a_seed_that_reports_no_progress_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stone_seed, "_SILENT_S", 0.5)
    with pytest.raises(DeploymentError, match=r"reported no progress for 0\.5 s"):
        seeder(tmp_path, "exec sleep 1000").seed()


def test_a_check_that_finds_something_is_no_failure(tmp_path: Path) -> None:
    row = {"what": "posts in timelines", "want": 3, "have": 2, "ok": False, "examples": ["p1"]}
    text = json.dumps({"rows": [row], "ok": False})
    assert seeder(tmp_path, f"echo '{text}'; [ $5 = --check ] && exit 4", SINGLE).check() == [row, row]


def test_stores_that_hold_parts_are_not_compared(tmp_path: Path) -> None:
    assert seeder(tmp_path, "exit 1").check() == []


def test_a_check_knows_how_many_writes_were_left_since_the_stores_were_filled(tmp_path: Path) -> None:
    def result() -> Any:
        return json.loads((tmp_path / "seed-1.json").read_text()).get("unfinished")

    row = {"what": "users", "want": 3, "have": 3, "ok": True, "examples": None}
    item = seeder(tmp_path, f"echo '{json.dumps({'rows': [row]})}'", SINGLE)
    item.loaded(3)
    item.loaded(4)
    assert item.check() and result() == 7
    item.loaded(None)
    item.loaded(1)
    assert item.check() == [], "their number is unknown"
    item.reset()
    assert item.check() and result() is None


def test_a_seed_without_checks_has_no_rows(tmp_path: Path) -> None:
    assert seeder(tmp_path, 'echo \'{"rows": null, "ok": true}\'', SINGLE).check() == []


def test_the_numbers_of_a_named_dataset_are_known_and_those_of_a_file_are_read_once(tmp_path: Path) -> None:
    assert seeder(tmp_path, "exit 1", users=3).keys == {"users": 3}
    script = f'echo x >> {tmp_path}/calls; cat "$4" >{tmp_path}/plan; echo \'{{"users": 7}}\''
    of_a_file = seeder(tmp_path, script, file="/data/mine.mtx")
    assert (of_a_file.keys["users"], of_a_file.keys["users"]) == (7, 7)
    assert (tmp_path / "calls").read_text() == "x\n"
    plan = json.loads((tmp_path / "plan").read_text())
    assert plan == {"stores": {}, "caches": {}, "profile": "", "dataset": {"file": "/data/mine.mtx"}}


def test_a_file_that_is_no_dataset_is_named(tmp_path: Path) -> None:
    wrong = seeder(tmp_path, "echo 'stone seed: /data/mine.mtx:3: two numbers are wanted' >&2; exit 2")
    with pytest.raises(InputError) as caught:
        numbers(wrong._stone, wrong._application, {"file": "/data/mine.mtx"})
    assert str(caught.value) == "dataset /data/mine.mtx: stone seed: /data/mine.mtx:3: two numbers are wanted"
