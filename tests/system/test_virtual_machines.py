"""A study whose replicas run in a virtual machine, emulated where KVM does not work; and what is left of it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.infrastructure import journal
from loadstone.infrastructure.qemu import Qemu, guests, image
from loadstone.model.cluster import Cluster
from loadstone.model.guest import Vm
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.users import User
from tests.traces import MACHINE, snapshot

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.long, pytest.mark.timeout(1800)]

BOOTS = 20


STEP = """
$now = pack("qq", 0, 0); syscall(228, 0, $now); ($s, $ns) = unpack("qq", $now);
$ns += 1e9 * ($ARGV[0] - int($ARGV[0])); $s += int($ARGV[0]) + ($ns >= 1e9); $ns -= 1e9 * ($ns >= 1e9);
syscall(227, 0, pack("qq", $s, $ns)) == 0 or die $!;
"""
"""Sets the wall clock forward by seconds: clock_gettime, then clock_settime, of x86-64."""


def write(user: User, study: dict[str, Any]) -> None:
    (user.home / "study.yaml").write_text(yaml.safe_dump(study))


@pytest.fixture
def person() -> Iterator[User]:
    if lacking := [*guests.missing(), *image.missing()]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        user = User(Path(name))
        shop = applications.shop()
        (user.home / "application.yaml").write_text(yaml.safe_dump(shop))
        settings = {"application": str(user.home / "application.yaml"), "environment": "vm", "vm": {"memory": "2GiB"}}
        study = docker_clusters.study("guests", "process", cluster={"infrastructure": "qemu"}, resources={}, **settings)
        study["load"]["rates"] = [2]
        write(user, study)
        yield user
        user.runs("down")
        running = subprocess.run(["pgrep", "-f", f"{guests.QEMU}.*{user.home}"], capture_output=True, check=False)
        assert running.stdout == b""


def test_replicas_run_in_a_virtual_machine(person: User) -> None:
    done = person.runs("run", "study.yaml", "--emulated-ok")
    (folder,) = person.home.glob("results/guests/*")
    (row,) = pq.read_table(folder / "trials.parquet").to_pylist()
    assert row["verdict"] == "held", done.stdout + done.stderr
    assert row["environment"] in ("vm", "vm (emulated)")
    audit = json.loads((folder / "trials" / row["trial_id"] / "audit.json").read_text())
    assert all(each["ok"] for each in audit), audit
    rows = {each["what"]: each["effective"] for each in audit}
    assert (rows["kernel"], rows["vcpus"], rows["vm memory"]) == ("a guest's", rows["vcpus"], "2GiB")
    assert rows["vm pinning"] == "none" and rows["files"] == "disk"


def test_a_step_of_a_guests_wall_clock_is_a_warning_and_changes_no_verdict(person: User) -> None:
    study = yaml.safe_load((person.home / "study.yaml").read_text())
    study["load"]["rates"] = [2, 3, 4]
    write(person, study | {"trial": {"warmup": "1s", "duration": "20s", "order": "sequential"}})
    process = person.starts("run", "study.yaml", "--emulated-ok")
    for finished, step_s in enumerate([0.05, 3600]):
        person.waits_until_a_trial_is_loaded(process, finished)
        entries = [json.loads(file.read_text()) for file in person.home.glob("state/*.json")]
        (folder,) = (entry["folder"] for entry in entries if entry["layer"] == "infrastructure")
        perl = shlex.join(["perl", "-e", STEP, str(step_s)])
        subprocess.run(["ssh", "-F", f"{folder}/ssh_config", "worker-1", perl], check=True, timeout=20)
    output, complained = process.communicate(timeout=600)
    assert process.returncode == 0, output + complained
    rows = docker_clusters.rows(person)
    assert [row["verdict"] for row in rows] == ["held"] * 3
    steps = [re.findall(r"wall clock of (\S+) was stepped by (\S+) s", " ".join(row["warnings"])) for row in rows]
    assert [[name for name, _ in found] for found in steps] == [["worker-1"], ["worker-1"], []]
    assert [float(found[0][1]) for found in steps[:2]] == pytest.approx([0.05, 3600], abs=0.02)


def test_a_study_that_is_killed_leaves_no_virtual_machine_after_down(person: User) -> None:
    process = person.starts("run", "study.yaml", "--emulated-ok")
    person.waits_until_a_trial_is_loaded(process, finished=0)
    process.kill()
    process.communicate(timeout=60)
    removed = person.runs("down")
    assert "emulated hosts" in removed.stdout, removed.stderr


@pytest.mark.clusters
@pytest.mark.timeout(5400)
def test_many_boots_and_removals_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    if lacking := [*guests.missing(), *image.missing()]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    before = snapshot()
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        for variable in ("LOADSTONE_STATE", "LOADSTONE_DATA"):
            monkeypatch.setenv(variable, f"{name}/{variable[-5:].lower()}")
        for _ in range(BOOTS):
            infrastructure = Qemu(Cluster(infrastructure="qemu"), "boots").in_guests(Vm(memory=2**29))
            try:
                guest = infrastructure.provide("process", 0, print).nodes[-1].guest
                assert guest is not None
                made = Path(guest.monitor).parents[1].name.removeprefix("emulated-")
                there = snapshot(made, (Path(name),))
                assert [
                    kind for kind in ("processes", "groups", "namespaces", "links", "files") if not there[kind]
                ] == []
            finally:
                infrastructure.release()
            left = snapshot(made, (Path(name),))
            assert {kind: lines for kind, lines in left.items() if lines and kind not in MACHINE} == {}
            assert {kind: left[kind] for kind in MACHINE} == {kind: before[kind] for kind in MACHINE}
            assert journal.entries() == []
