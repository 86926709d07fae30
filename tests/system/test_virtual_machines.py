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

import psutil
import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.experiments.trial_runner import mismatches
from loadstone.infrastructure import journal
from loadstone.infrastructure.cores import format_cores
from loadstone.infrastructure.machines import connect, this_machine
from loadstone.infrastructure.qemu import Qemu, guests, image
from loadstone.model.cluster import Cluster
from loadstone.model.guest import Vm
from loadstone.orchestration.hardware import guest_rows
from tests.orchestration import docker_clusters
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes
from tests.support import applications
from tests.support.clusters import folders
from tests.support.users import User
from tests.traces import MACHINE, snapshot

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.long, pytest.mark.timeout(1800)]

BOOTS = 20
LIMITS = ("cpu", "memory")

STEP = """
$now = pack("qq", 0, 0); syscall(228, 0, $now); ($s, $ns) = unpack("qq", $now);
$ns += 1e9 * ($ARGV[0] - int($ARGV[0])); $s += int($ARGV[0]) + ($ns >= 1e9); $ns -= 1e9 * ($ns >= 1e9);
syscall(227, 0, pack("qq", $s, $ns)) == 0 or die $!;
"""
"""Sets the wall clock forward by seconds: clock_gettime, then clock_settime, of x86-64."""

HOG = """
open(F, ">/proc/self/oom_score_adj"); print F -1000; close(F);
while (@ARGV == grep { -e "/proc/$_/exe" } @ARGV) { push @held, "x" x 2**24; select undef, undef, undef, 0.3 }
"""
"""Takes memory until one of these processes is gone; the kernel does not choose it. The pauses are for the end of the
one that it chooses: with no process left to choose, the kernel panics."""

FILL = "for size in 1024 64 1; do while fallocate -l ${size}M /filled.$((n = n + 1)); do :; done; done 2>/dev/null; :"
"""Takes the whole disk, with what is reserved for root."""


def login(user: User) -> list[str]:
    """The command line that runs a command in the guest of the study that runs."""
    entries = [json.loads(file.read_text()) for file in user.home.glob("state/*.json")]
    (folder,) = (entry["folder"] for entry in entries if entry["layer"] == "infrastructure")
    return ["ssh", "-F", f"{folder}/ssh_config", "worker-1"]


def qemus(home: Path) -> list[psutil.Process]:
    """Those with a disk below ``home``."""
    named = [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"]]
    return [
        each for each in named if guests.QEMU in each.info["cmdline"][0] and str(home) in " ".join(each.info["cmdline"])
    ]


def write(user: User, study: dict[str, Any]) -> None:
    (user.home / "study.yaml").write_text(yaml.safe_dump(study))


def valid(rows: list[dict[str, Any]]) -> list[bool]:
    """Whether each trial went well and requests were answered; on processors of software, in whatever time."""
    return [row["verdict"] != "invalid" and bool(row["completed"]) for row in rows]


@pytest.fixture
def person() -> Iterator[User]:
    if lacking := [*guests.missing(), *image.missing()]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    with folders() as home:
        user = User(home)
        shop = applications.shop()
        (user.home / "application.yaml").write_text(yaml.safe_dump(shop))
        settings = {"application": str(user.home / "application.yaml"), "environment": "vm", "vm": {"memory": "2GiB"}}
        study = docker_clusters.study("guests", "process", cluster={"infrastructure": "qemu"}, resources={}, **settings)
        study["load"]["rates"] = [2]
        write(user, study)
        yield user
        user.runs("down")
        assert qemus(user.home) == []


def test_replicas_run_in_a_virtual_machine(person: User) -> None:
    done = person.runs("run", "study.yaml", "--emulated-ok")
    (folder,) = person.home.glob("results/guests/*")
    (row,) = pq.read_table(folder / "trials.parquet").to_pylist()
    assert valid([row]) == [True], done.stdout + done.stderr
    assert row["environment"] in ("vm", "vm (emulated)")
    audit = json.loads((folder / "trials" / row["trial_id"] / "audit.json").read_text())
    assert all(each["ok"] for each in audit), audit
    rows = {each["what"]: each["effective"] for each in audit}
    assert (rows["kernel"], rows["vcpus"], rows["vm memory"]) == ("a guest's", rows["vcpus"], "2GiB")
    assert rows["vm pinning"] == "none" and rows["files"] == "disk"


@pytest.mark.docker
def test_all_four_environments_take_turns_in_one_study(person: User) -> None:
    given = this_machine().facts().hypervisor.present
    docstore, levels = applications.patient("docstore"), ["bare", "container", "vm", "vm-container"]
    (person.home / "application.yaml").write_text(yaml.safe_dump(docstore))
    study = yaml.safe_load((person.home / "study.yaml").read_text())
    del study["orchestrator"], study["environment"]
    study |= {"resources": applications.limits(docstore, cpu=0.5), "factors": {"environment": levels}}
    study["cluster"] |= {"machine": "vm"} if given else {}
    write(person, study)
    done = person.runs("run", "study.yaml", "--emulated-ok")
    (folder,) = person.home.glob("results/guests/*")
    rows = pq.read_table(folder / "trials.parquet").to_pylist()
    assert valid(rows) == [True] * 4, done.stdout + done.stderr
    audits = [json.loads((folder / "trials" / row["trial_id"] / "audit.json").read_text()) for row in rows]
    assert all(each["ok"] for audit in audits for each in audit), audits
    names = [f"{level} (guest given)" for level in levels[2:]] if given else levels[:2]
    emulated = " (emulated)" if rows[2]["accelerator"] == "tcg" else ""
    assert [row["environment"] for row in rows] == [*names, f"vm{emulated}", f"vm-container{emulated}"]
    for audit, row in zip(audits, rows, strict=True):
        assert {each["effective"] for each in audit if each["what"] == "environment"} == {row["environment"]}
    kernels = [{each["effective"] for each in audit if each["what"] == "kernel"} for audit in audits]
    assert kernels == [{"this machine's"}] * 2 + [{"a guest's"}] * 2
    limits = [{(e["replica"], e["what"], e["effective"]) for e in audit if e["what"] in LIMITS} for audit in audits]
    assert len(limits[0]) == 4 and limits == [limits[0]] * 4, "the same in all four"


@pytest.mark.docker
def test_a_swarm_of_virtual_machines(person: User) -> None:
    docstore = applications.patient("docstore")
    (person.home / "application.yaml").write_text(yaml.safe_dump(docstore))
    study = yaml.safe_load((person.home / "study.yaml").read_text())
    study |= {"resources": applications.limits(docstore, cpu=0.5), "vm": {"memory": "1GiB"}}
    write(person, study | {"orchestrator": "swarm", "environment": "vm-container"})
    done = person.runs("run", "study.yaml", "--emulated-ok")
    (row,) = person.rows()
    assert valid([row]) == [True], done.stdout + done.stderr
    assert row["environment"] in ("vm-container", "vm-container (emulated)")


def test_a_stressor_disturbs_a_virtual_machine_from_within(person: User) -> None:
    """It runs in the guest, and is counted there; the disk of this guest is a layer over the image."""
    (person.home / "application.yaml").write_text(yaml.safe_dump(applications.patient("docstore")))
    study = yaml.safe_load((person.home / "study.yaml").read_text())
    study |= {"factors": {"interference": ["off", {"stressor": "cpu", "load": "50%", "on": "worker-1"}]}}
    write(person, study | {"vm": {"memory": "1GiB", "disk": "qcow2"}})
    done = person.runs("run", "study.yaml", "--emulated-ok")
    rows = person.rows()
    assert valid(rows) == [True] * 2, done.stdout + done.stderr
    (folder,) = person.home.glob("results/guests/*")
    quiet, disturbed = (folder / "trials" / row["trial_id"] for row in rows)
    assert not (quiet / "interference.json").exists()
    (used,) = json.loads((disturbed / "interference.json").read_text())["readings"]
    assert (used["name"], used["node"]) == ("cpu", "worker-1") and used["cpu_s"] > 0
    replicas = [set(json.loads((place / "observed.json").read_text())["replicas"]) for place in (quiet, disturbed)]
    assert replicas[0] == replicas[1]


def test_a_step_of_a_guests_wall_clock_is_a_warning_and_changes_no_verdict(person: User) -> None:
    study = yaml.safe_load((person.home / "study.yaml").read_text())
    study["load"]["rates"] = [2, 3, 4]
    write(person, study | {"trial": {"warmup": "1s", "duration": "20s", "order": "sequential"}})
    process = person.starts("run", "study.yaml", "--emulated-ok")
    for finished, step_s in enumerate([0.05, 3600]):
        person.waits_until_a_trial_is_loaded(process, finished)
        perl = shlex.join(["perl", "-e", STEP, str(step_s)])
        subprocess.run([*login(person), perl], check=True, timeout=60)
    output, complained = process.communicate(timeout=600)
    assert process.returncode == 0, output + complained
    rows = person.rows()
    assert valid(rows) == [True] * 3, [row["reasons"] for row in rows]
    steps = [re.findall(r"wall clock of (\S+) was stepped by (\S+) s", " ".join(row["warnings"])) for row in rows]
    assert [[name for name, _ in found] for found in steps] == [["worker-1"], ["worker-1"], []]
    assert [float(found[0][1]) for found in steps[:2]] == pytest.approx([0.05, 3600], abs=0.02)


def test_a_guest_that_panics_and_one_that_hangs_make_their_trials_invalid(person: User) -> None:
    (person.home / "application.yaml").write_text(yaml.safe_dump(applications.patient("docstore")))
    study = yaml.safe_load((person.home / "study.yaml").read_text())
    study["load"]["rates"] = [2, 3, 4, 5]
    write(person, study | {"trial": {"warmup": "1s", "duration": "20s", "order": "sequential"}})
    process = person.starts("run", "study.yaml", "--emulated-ok")
    person.waits_until_a_trial_is_loaded(process, finished=1)
    subprocess.run([*login(person), "(sleep 1; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &"], timeout=60, check=True)
    person.waits_until_a_trial_is_loaded(process, finished=2)
    (guest,) = qemus(person.home)
    guest.suspend()
    output, complained = process.communicate(timeout=1200)
    assert process.returncode == 4, output + complained
    rows = person.rows()
    assert valid(rows) == [True, False, False, True], [row["reasons"] for row in rows]
    panicked, hung = rows[1]["reasons"], rows[2]["reasons"]
    assert any(reason == "worker-1: it is down" for reason in panicked), panicked
    assert any(reason.startswith("worker-1: ") for reason in hung), hung


def test_a_guest_that_runs_out_of_memory_or_of_disk_makes_that_trial_invalid(person: User) -> None:
    (person.home / "application.yaml").write_text(yaml.safe_dump(applications.patient("docstore")))
    study = yaml.safe_load((person.home / "study.yaml").read_text())
    study["load"]["rates"] = [2, 3, 4, 5]
    trial = {"warmup": "1s", "duration": "60s", "order": "sequential"}
    write(person, study | {"trial": trial, "vm": {"memory": "512MiB"}})
    process = person.starts("run", "study.yaml", "--emulated-ok")
    person.waits_until_a_trial_is_loaded(process, finished=1)
    hog = f"perl -e {shlex.quote(HOG)} $(pgrep -f '[d]ocstore/') >/dev/null 2>&1 &"
    subprocess.run([*login(person), hog], timeout=60, check=True)
    person.waits_until_a_trial_is_loaded(process, finished=3)
    subprocess.run([*login(person), FILL], timeout=60, check=True)
    output, complained = process.communicate(timeout=1200)
    assert process.returncode == 4, output + complained
    rows = person.rows()
    assert valid(rows) == [True, False, True, False], [row["reasons"] for row in rows]
    memory, disk = rows[1]["reasons"], rows[3]["reasons"]
    assert any(re.match("(queue|couchdb)-1 ran out of memory: the kernel killed", reason) for reason in memory), memory
    assert any(re.match(r"worker-1: the disk of \S+ is full", reason) for reason in disk), disk


def test_a_study_that_is_killed_leaves_no_virtual_machine_after_down(person: User) -> None:
    process = person.starts("run", "study.yaml", "--emulated-ok")
    person.waits_until_a_trial_is_loaded(process, finished=0)
    process.kill()
    process.communicate(timeout=60)
    removed = person.runs("down")
    assert "emulated hosts" in removed.stdout, removed.stderr


def test_hardware_that_a_guest_does_not_have_is_found() -> None:
    if lacking := [*guests.missing(), *image.missing()]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    geo = deployed(parse(SERVICES), two_nodes()).of("geo")[0]
    with folders():
        infrastructure = Qemu(Cluster(infrastructure="qemu"), "hardware").in_guests(Vm(cpus=1, memory=2**29))
        try:
            node = infrastructure.provide("process", 0, print).nodes[-1]
            assert node.guest is not None
            made, seen, boot = node.guest, connect(node.name, node.reach).facts(), this_machine().boot
            other = "kvm" if made.accelerator == "tcg" else "tcg"
            wanted = {"cpus": 2, "memory": 2**30, "pinned": (99,), "accelerator": other}
            assert mismatches(guest_rows(geo, node.name, made, seen, boot)) == []
            found = mismatches(guest_rows(geo, node.name, made.model_copy(update=wanted), seen, boot))
        finally:
            infrastructure.release()
    cores = format_cores(made.host_cpus)
    assert found == [
        f"audit: geo-1 on worker-1 has accelerator {made.accelerator}, requested {other}",
        "audit: geo-1 on worker-1 has vcpus 1, requested 2",
        "audit: geo-1 on worker-1 has vm memory 512MiB, requested 1GiB",
        f"audit: geo-1 on worker-1 has vm pinning {cores}, requested 99",
    ]


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
