"""Emulated hosts for real, as root."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure.namespaces import checks, network
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.network import one_at_a_time, used_subnets
from loadstone.model.cluster import Link
from tests.support import groups
from tests.support.daemons import Daemon
from tests.support.strangers import connections
from tests.traces import MACHINE, snapshot

pytestmark = [pytest.mark.root, pytest.mark.clusters]

NAMES = ["manager-1", "worker-1", "worker-2"]
RATE = 100_000_000
MADE = ("processes", "groups", "namespaces", "links", "routes", "files")
ANSWER = """
import socket, sys
server = socket.create_server((sys.argv[1], 7000))
print("listening", flush=True)
while True:
    server.accept()[0].sendall(sys.argv[2].encode())
"""
ASK = "import socket,sys; print(socket.create_connection((sys.argv[1], 7000), 60).recv(99).decode())"


@pytest.fixture
def emulated(tmp_path: Path) -> Iterator[EmulatedHosts]:
    """Three hosts; afterwards nothing of them may be left."""
    if lacking := [finding for finding in checks.machine(Link(rate=RATE)) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    before = snapshot()
    with one_at_a_time():
        made = EmulatedHosts.planned(NAMES, tmp_path / "clusters").claim((min(os.sched_getaffinity(0)),))
    try:
        made.make(RATE)
        there = snapshot(made.id, (tmp_path,))
        assert [kind for kind in MADE if not there[kind]] == []
        yield made
    finally:
        made.remove()
        made.remove()
        left = snapshot(made.id, (tmp_path,))
        assert {kind: lines for kind, lines in left.items() if lines and kind not in MACHINE} == {}
        assert {kind: left[kind] for kind in MACHINE} == {kind: before[kind] for kind in MACHINE}


def test_a_link_that_the_kernel_removes_meanwhile_is_gone(
    emulated: EmulatedHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link goes with the namespace of its other end, a moment after that was deleted."""
    really = network.run

    def just_after_the_kernel(*argv: str, given: str = "") -> str:
        if argv[1] == "link":
            really(*argv)
        return really(*argv, given=given)

    monkeypatch.setattr(network, "run", just_after_the_kernel)
    emulated.remove()


def test_a_host_is_its_own(emulated: EmulatedHosts) -> None:
    manager, worker, _ = emulated.hosts
    assert worker.run(["cat", "/proc/sys/kernel/hostname"]).stdout == "worker-1\n"
    assert os.uname().nodename != "worker-1"
    worker.run(["touch", "/run/mark", "/etc/mark"])
    assert worker.run(["ls", "/run/mark", "/etc/mark"]).stdout == "/etc/mark\n/run/mark\n"
    assert manager.run(["ls", "/run/mark", "/etc/mark"]).stdout == ""
    assert not Path("/run/mark").exists() and not Path("/etc/mark").exists()
    knob = "/proc/sys/kernel/panic"
    before = Path(knob).read_text()
    worker.run(["sh", "-c", f"echo 77 >{knob}"])
    assert worker.run(["cat", knob]).stdout == "77\n"
    assert (Path(knob).read_text(), manager.run(["cat", knob]).stdout) == (before, before)


def test_all_hosts_together_have_so_many_threads(emulated: EmulatedHosts) -> None:
    files = [place / "pids.max" for place in groups.folders(emulated.group)]
    assert {file.read_text() for file in files if file.exists()} == {"16384\n"}


def test_what_runs_on_a_host_is_in_its_group_on_the_cluster_s_cores(emulated: EmulatedHosts) -> None:
    host = emulated.hosts[1]
    sleeper = Daemon(host, "sleeper", ["sh", "-c", 'echo "$WORD" $$; exec sleep 1000'], {"WORD": "started"})
    sleeper.awaits("started")
    pid = int(sleeper.log().split()[1])
    assert pid in groups.processes(groups.folders(host.containers))
    assert os.sched_getaffinity(pid) == {min(os.sched_getaffinity(0))}
    assert sleeper.alive()
    host.stop()
    assert groups.processes(groups.folders(host.group)) == set()
    assert emulated.hosts[2].run(["true"]).returncode == 0  # the others do not notice
    host.boot()
    assert host.run(["cat", "/etc/hostname"]).stdout == "worker-1\n"


def test_all_mounts_of_a_host_are_its_daemons_alone(emulated: EmulatedHosts) -> None:
    first, second = emulated.hosts[1:]
    mounts = "mount -t tmpfs t /mnt; echo there >/mnt/word"
    Daemon(first, "first", ["sh", "-c", "cat /mnt/word; exec sleep 1000"], mounts=mounts).awaits("there")
    assert first.run(["cat", "/mnt/word"]).stdout == "there\n"
    assert second.run(["ls", "/mnt/word"]).returncode != 0
    assert not Path("/mnt/word").exists()


def test_a_daemon_that_cannot_start_says_why(emulated: EmulatedHosts) -> None:
    Daemon(emulated.hosts[0], "wrong", ["/no/such/program"]).awaits("/no/such/program: not found")


def test_hosts_and_this_machine_reach_each_other(emulated: EmulatedHosts) -> None:
    first, second = emulated.hosts[1:]
    for host in (first, second):
        Daemon(host, "answer", ["python3", "-c", ANSWER, host.address, host.name]).awaits("listening")
    assert first.run(["python3", "-c", ASK, second.address]).stdout == "worker-2\n"
    with socket.create_connection((first.address, 7000), 60) as connection:
        assert connection.recv(99) == b"worker-1"
        assert connection.getsockname()[0] == emulated.network.client


def routing_rules(emulated: EmulatedHosts) -> list[str]:
    """Those of this machine for the network of these hosts."""
    shown = subprocess.run(["ip", "rule", "show"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split(":")[1].strip() for line in shown if f"to {emulated.subnet}" in line]


def test_no_other_user_reaches_a_host(emulated: EmulatedHosts) -> None:
    host = emulated.hosts[1]
    Daemon(host, "answer", ["python3", "-c", ANSWER, host.address, host.name]).awaits("listening")
    address = f"{host.address}:7000"
    assert connections([address], "root") == {address: "reached"}
    assert connections([address]) == {address: "Permission denied"}


@pytest.mark.parametrize(("sudo", "users"), [("", ["0-0"]), ("4711", ["0-0", "4711-4711"])])
def test_who_became_root_reaches_the_hosts_and_no_rule_is_left(
    sudo: str, users: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", sudo) if sudo else monkeypatch.delenv("SUDO_UID", raising=False)
    with one_at_a_time():
        planned = EmulatedHosts.planned(NAMES, tmp_path / "clusters")
        left = f"pref 10007 to {planned.subnet} prohibit"  # by a desk that was killed
        subprocess.run(["ip", "rule", "add", *left.split()], check=True)
        made = planned.claim()
    try:
        let_in = [f"from all to {made.subnet} iif lo uidrange {user} lookup main" for user in users]
        assert routing_rules(made) == [*let_in, f"from all to {made.subnet} prohibit"]
    finally:
        made.remove()
    assert routing_rules(made) == []


def test_hosts_are_found_whatever_the_data_folder_is_later(
    emulated: EmulatedHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path / "another"))
    found = EmulatedHosts.of(emulated.as_data()).hosts
    assert all(host.up() for host in found)
    assert found[0].run(["cat", "/etc/hostname"]).stdout.strip() == found[0].name


def test_links_are_shaped_both_ways(emulated: EmulatedHosts) -> None:
    for namespace, device in ((f"{emulated.cluster}-worker-2", "eth0"), (emulated.cluster, "worker-2")):
        command = ["tc", "-n", namespace, "-j", "qdisc", "show", "dev", device]
        shown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert [(queue["kind"], queue["options"]["rate"] * 8) for queue in shown] == [("tbf", RATE)]


def test_two_clusters_at_once_have_different_subnets(emulated: EmulatedHosts, tmp_path: Path) -> None:
    other = EmulatedHosts.planned(NAMES, tmp_path)
    assert emulated.network.subnet in used_subnets()
    assert not other.network.subnet.overlaps(emulated.network.subnet)
