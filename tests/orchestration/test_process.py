"""Real stores as processes, in real control groups where we are root."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from loadstone.infrastructure import journal
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.local import Local
from loadstone.infrastructure.machines.here import Here
from loadstone.model.cluster import Cluster
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError, InputError
from loadstone.orchestration.process import Process
from tests.orchestration.conftest import SERVICES, STORES, deployed, parse
from tests.orchestration.process_deployments import pid_of, start
from tests.support import groups

pytestmark = pytest.mark.servers
needs_limits = pytest.mark.usefixtures("control_groups")


def talk(address: str, request: bytes) -> bytes:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(request)
        return connection.recv(100)


def nothing_left(process: Process, data: Path) -> None:
    name = process.deployment.name
    assert journal.load(name) is None
    assert not journal.records_folder(name).exists()
    assert list(data.glob(f"deployments/{name}*")) == []
    assert groups.matching(f"loadstone/{name}*") == []


def test_a_life(stores: Process, own_folders: Path) -> None:
    stores.preflight()
    start(stores)
    assert talk(stores.addresses("cache", "main")[0], b"version\r\n").startswith(b"VERSION")
    assert talk(stores.addresses("queue", "redis")[0], b"PING\r\n").startswith(b"-NOAUTH")
    assert [row for row in stores.audit() if not row.ok] == []
    assert stores.events() == []
    pids = [pid_of(stores, replica.name) for replica in stores.deployment.replicas]
    stores.apply()  # runs already: changes nothing
    assert pids == [pid_of(stores, replica.name) for replica in stores.deployment.replicas]
    started = [psutil.Process(pid) for pid in pids]
    assert "ready to accept connections" in stores.logs("documents")["documents-1"]
    assert set(stores.logs()) == {"documents-1", "queue-1", "cache-1"}
    assert set(stores.usage()) == {"documents-1", "queue-1", "cache-1"}
    assert stores.versions()["postgres"].split(".")[0].isdigit()
    stores.remove()
    stores.remove()
    nothing_left(stores, own_folders)
    assert not any(process.is_running() for process in started)  # the same process, not a later one of that id
    assert "database system is shut down" in stores.logs("documents")["documents-1"]  # it was stopped, not killed


@pytest.mark.root
@needs_limits
def test_limits_are_applied_before_the_program_runs(stores: Process) -> None:
    start(stores)
    rows = {(row.replica, row.what): (row.wanted, row.effective) for row in stores.audit()}
    assert rows["cache-1", "cpu"] == ("0.5", "0.5")
    assert rows["cache-1", "memory"] == ("64MiB", "64MiB")
    assert rows["documents-1", "node"] == ("worker-1", "worker-1")
    assert len(rows) == 18
    assert rows["cache-1", "kernel"] == ("this machine's",) * 2
    uid = psutil.Process(pid_of(stores, "documents-1")).uids().real
    assert uid != 0


@pytest.mark.root
@needs_limits
def test_a_limit_that_is_not_in_force_is_found(stores: Process) -> None:
    start(stores)
    group = stores._shares["worker-1"].part.group
    groups.limit(groups.folders(f"{group}/cache-1"), cpu=0.25)
    groups.join_root(pid_of(stores, "queue-1"))
    wrong = {(row.replica, row.what): (row.wanted, row.effective) for row in stores.audit() if not row.ok}
    assert wrong["cache-1", "cpu"] == ("0.5", "0.25")
    assert wrong["queue-1", "limits"] == ("in force", "it is in no control group of its own")
    assert not any(replica == "documents-1" for replica, _ in wrong)
    os.kill(pid_of(stores, "queue-1"), signal.SIGKILL)  # its group cannot find it any more


def test_a_death_is_an_event_and_fails_the_audit(stores: Process) -> None:
    start(stores)
    pid = pid_of(stores, "cache-1")
    os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 120
    while not any("killed" in event for event in stores.events()) and time.monotonic() < end:
        time.sleep(0.02)
    assert stores.events() == [f"cache-1 (pid {pid}) was killed by signal 9 (Killed)"]
    assert stores.events() == [f"cache-1 (pid {pid}) was killed by signal 9 (Killed)"]  # and stays one
    assert [(row.replica, row.effective) for row in stores.audit() if not row.ok] == [("cache-1", "not running")]
    with pytest.raises(DeploymentError, match=r"cache-1 .* was killed by signal 9 \(Killed\) before it was ready"):
        stores.ready()


@pytest.mark.root
@needs_limits
def test_running_out_of_memory_is_an_event(own_folders: Path, tmp_path: Path) -> None:
    text = STORES.replace("memory: 128MiB", "memory: 4MiB")  # PostgreSQL cannot start in that
    deployment = deployed(parse(text), Local(Cluster()).sketch("process", 0), f"test-oom-{os.getpid()}")
    process = Process(deployment, tmp_path / "run")
    try:
        process.apply()
        with pytest.raises(DeploymentError, match="documents-1"):
            process.ready()
        assert any("documents-1 ran out of memory" in event for event in process.events())
    finally:
        process.remove()


def test_a_process_that_ends_at_once_is_reported_with_its_output(stores: Process) -> None:
    with socket.socket() as taken:  # between its choice and its use, another process takes the port
        stores._begin()
        port = int(stores.addresses("cache", "main")[0].rpartition(":")[2])
        taken.bind(("127.0.0.1", port))
        taken.listen()
        stores.apply()
        with pytest.raises(DeploymentError) as caught:
            while True:  # the port accepts, so only the death tells
                stores.ready()
                time.sleep(0.02)
    message = str(caught.value)
    assert "cache-1 (pid" in message and "ended" in message and "before it was ready" in message
    assert "Address already in use" in message


def test_a_port_that_is_taken_is_replaced(stores: Process) -> None:
    preferred = next(iter(stores.render().values()))
    assert "11211" in preferred
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        number = taken.getsockname()[1]
        text = STORES.replace("11211", str(number))
        taken.listen()
        process = Process(
            deployed(parse(text), Local(Cluster()).sketch("process", 0), stores.deployment.name), stores.folder
        )
        try:
            start(process)
            address = process.addresses("cache", "main")[0]
            assert address != f"127.0.0.1:{number}"
            assert talk(address, b"version\r\n").startswith(b"VERSION")
            assert address in (process.folder / "processes.yaml").read_text()
        finally:
            process.remove()


def test_who_comes_later_finds_what_runs(stores: Process, tmp_path: Path) -> None:
    start(stores)
    later = Process(stores.deployment, stores.folder)
    later.apply()
    later.ready()
    assert later.addresses("cache", "main") == stores.addresses("cache", "main")
    other = deployed(parse(STORES), Local(Cluster()).sketch("process", 0), stores.deployment.name, scaling="unlimited")
    with pytest.raises(DeploymentError, match=r"with other settings is running .*\n.*loadstone down test-"):
        Process(other, tmp_path / "other").apply()


def test_an_undeployed_application_cannot_be_read(stores: Process) -> None:
    for ask in (stores.ready, stores.audit, stores.usage, lambda: stores.addresses("cache", "main")):
        with pytest.raises(DeploymentError, match="is not deployed"):
            ask()
    assert stores.events() == []
    assert stores.logs("cache") == {"cache-1": ""}


def test_without_permission_nothing_lies(own_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "none").mkdir()
    options = ["--state", str(own_folders), "--cgroup", str(tmp_path / "none")]
    monkeypatch.setattr(Here, "node_options", lambda self: options)
    deployment = deployed(parse(STORES), Local(Cluster()).sketch("process", 0), f"test-unlimited-{os.getpid()}")
    process = Process(deployment, tmp_path / "run")
    try:
        (warning,) = [f.message for f in process.preflight() if f.level == "warning"]
        assert warning.startswith("CPU and memory limits are not applied: ")
        start(process)
        assert process.deployment.warnings == (warning,)
        rows = {(row.replica, row.what): row for row in process.audit()}
        assert all(row.ok for row in rows.values())
        cpu = rows["cache-1", "cpu"]
        assert (cpu.wanted, cpu.effective, cpu.waived) == ("0.5", "unlimited", warning.partition("applied: ")[2])
        assert rows["cache-1", "cores"].waived == ""  # by affinity: this is in force
        assert process.usage() == {}
        assert not process.new_peaks()
        pids = [pid_of(process, replica.name) for replica in process.deployment.replicas]
        started = [psutil.Process(pid) for pid in pids]
        running_children = started[0].children(recursive=True)
    finally:
        process.remove()
    nothing_left(process, own_folders)
    assert not any(each.is_running() for each in started)
    psutil.wait_procs(running_children, timeout=120)
    assert not any(child.is_running() for child in running_children)


KILLED = """
import json, os, sys, time
from pathlib import Path
from loadstone.model.deployment import Deployment
from loadstone.orchestration.process import Process
process = Process(Deployment.model_validate_json(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
process.apply()
process.ready()
print("up", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("when", ["up", "starting"])
def test_after_kill_9_of_the_parent_remove_all_leaves_nothing(
    stores: Process, own_folders: Path, tmp_path: Path, when: str
) -> None:
    deployment = stores.deployment
    (tmp_path / "deployment.json").write_text(json.dumps(deployment.model_dump(mode="json")))
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "deployment.json"), str(stores.folder)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        if when == "up":
            assert parent.stdout.readline() == b"up\n"
        else:
            end = time.monotonic() + 60
            while not list(own_folders.glob(f"deployments/{deployment.name}-*/processes/*/*")):  # the first is there
                assert time.monotonic() < end and parent.poll() is None
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    marker = str(own_folders / "deployments" / deployment.name)
    if when == "up":
        assert commands_with(marker), "children outlive their parent"
    (sentence,) = journal.remove_all()
    assert sentence.startswith(f"{deployment.name} (")
    nothing_left(stores, own_folders)
    assert not commands_with(marker)
    assert journal.remove_all() == []


def commands_with(text: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if text in " ".join(p.info["cmdline"] or [])]


def test_removing_by_name(stores: Process) -> None:
    with pytest.raises(InputError, match="no deployment 'nope'; nothing is deployed"):
        journal.remove_all(["nope"])
    start(stores)
    name = stores.deployment.name
    with pytest.raises(InputError, match=f"did you mean '{name}'"):
        journal.remove_all([name[:-1]])
    assert [entry.name for entry in journal.entries()] == [name]
    assert journal.remove_all([name]) == [f"{name} (3 of its 3 processes were running)"]
    assert journal.entries() == []


def test_a_broken_journal_entry_names_its_file(own_folders: Path) -> None:
    journal.state_folder().mkdir(parents=True)
    (journal.state_folder() / "x.json").write_text("{}")
    with pytest.raises(DeploymentError, match=r"x\.json: not a readable journal entry.*\n.*delete it"):
        journal.entries()


def test_two_users_of_one_name_do_not_meet(stores: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(stores)
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "another-state"))
    another = Process(stores.deployment, tmp_path / "another-run")
    try:
        start(another)
        assert another.addresses("cache", "main") != stores.addresses("cache", "main")
    finally:
        another.remove()
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    assert stores.events() == []
    assert [row for row in stores.audit() if not row.ok] == []


def services(name: str, **settings: str) -> Deployment:
    return deployed(parse(SERVICES), Local(Cluster()).sketch("process", 0), name, **settings)


def test_preflight_names_what_is_missing(own_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_STONE", str(stone_binary()))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path))  # a machine of its own, with this PATH
    process = Process(services("x", documents="mongodb"), tmp_path)
    errors = {finding.what: finding for finding in process.preflight() if finding.level == "error"}
    assert set(errors) == {"memcached", "mongodb"}
    assert "install memcached" in errors["memcached"].remedy
    assert "set documents: postgres" in errors["mongodb"].remedy
    with pytest.raises(DeploymentError, match="memcached is not installed on this machine"):
        process.apply()


def test_preflight_without_a_stone_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(services("x"), tmp_path)
    monkeypatch.setenv("LOADSTONE_STONE", str(tmp_path / "no-stone"))
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path))  # a machine of its own, without a channel yet
    (finding,) = process.preflight()
    assert (finding.level, finding.what) == ("error", "worker-1") and "the stone binary is missing" in finding.message
