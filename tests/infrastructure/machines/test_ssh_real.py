"""Hosts over real SSH: what a study needs of them, one clear message where they lack it, and nothing left on them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.hosts import Hosts
from loadstone.infrastructure.hosts import checks as host_checks
from loadstone.infrastructure.machines import Machine, MachineLost, close_all, connect
from loadstone.infrastructure.machines.base import Machine as Base
from loadstone.infrastructure.machines.delivery import Delivery
from loadstone.infrastructure.machines.ssh import Ssh
from loadstone.infrastructure.namespaces import checks
from loadstone.model.cluster import Cluster, Link
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.deployments import NodeLimits, SpawnArgs
from loadstone.orchestration.process.share import MachinePart, Started
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts

pytestmark = [pytest.mark.root, pytest.mark.clusters]


@pytest.fixture(scope="module")
def three() -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    with ssh_hosts() as made:
        yield made
        close_all()


@pytest.fixture(autouse=True)
def own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))


def provider(three: SshHosts, name: str = "over-ssh", **different: str) -> Hosts:
    return Hosts(Cluster(infrastructure="hosts", inventory=str(three.inventory(**different))), name)


def finding(three: SshHosts, name: str = "worker-2", **different: str) -> Finding:
    """What a preflight has of one host; the others are fine."""
    close_all()
    found = {each.what: each for each in provider(three, **different).preflight("process", 0)}
    assert {each.level for each in found.values() if each.what != name} == {"ok"}
    return found[name]


def machine(three: SshHosts, name: str = "worker-1") -> Machine:
    return connect(name, provider(three)._reach(name))


Patience = dict[str, dict[str, int]]
"""Shorter limits of ssh than usual, by what it is given as the host."""


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Patience:
    """Limits of hosts that are expected to be out of reach: all others keep those that a busy machine needs."""
    shorter: Patience = {}
    usual = Ssh._options

    def options(self: Ssh) -> list[str]:
        program, *rest = usual(self)
        # ssh takes the first value that it is given.
        first = [word for name, value in shorter.get(self._host, {}).items() for word in ("-o", f"{name}={value}")]
        return [program, *first, *rest]

    monkeypatch.setattr(Ssh, "_options", options)
    return shorter


def there_again(machine: Machine) -> int:
    """The process id of a machine's node; the one before it may be lost in between."""
    with contextlib.suppress(MachineLost):
        return machine.hello.pid
    return 0


def test_hosts_that_lack_nothing_become_nodes(three: SshHosts) -> None:
    made = provider(three)
    assert [(each.what, each.level) for each in made.preflight("process", 0)] == [
        (host.name, "ok") for host in three.hosts
    ]
    client, *workers = made.provide("process", 0, print).nodes
    assert client.role == "client" and client.address == three.emulated.network.client
    assert [(each.name, each.address) for each in workers] == [(host.name, host.address) for host in three.hosts]
    assert made.problems() == []
    with pytest.raises(DeploymentError, match=r"worker-\d: another study uses this host: over-ssh, started .*\n.*down"):
        provider(three, "another").provide("process", 0, print)
    assert [entry.name for entry in journal.entries()] == ["over-ssh"], "nothing is half done"
    groups = three.groups()
    assert len(groups) == len(three.hosts)
    made.release()
    assert (three.left(groups), journal.entries()) == ([], [])


def test_another_study_is_found_before_anything_is_done(
    three: SshHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = provider(three)
    made.provide("process", 0, print)
    try:
        monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "another-desk"))
        found = provider(three).preflight("process", 0)
        assert all("another study uses this host: over-ssh, started" in finding.message for finding in found)
    finally:
        monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
        made.release()


def test_the_binary_is_delivered_once(three: SshHosts) -> None:
    there = machine(three)
    before = Path(three.own("worker-1"), "bin", Path(there.stone).name).stat()
    close_all()
    there = machine(three)
    assert there.run([there.stone, "version"]).code == 0
    after = Path(three.own("worker-1"), "bin", Path(there.stone).name).stat()
    assert (before.st_ino, before.st_mode & 0o777) == (after.st_ino, 0o755)


def test_a_program_is_delivered_by_its_content(three: SshHosts, tmp_path: Path) -> None:
    def deliver(content: str) -> tuple[str, int]:
        program = tmp_path / "tool"
        shutil.copy(shutil.which(content) or "", program)
        path = machine(three).deliver(program)
        assert Path(path).name.startswith("tool-")
        return path, Path(three.own("worker-1"), "bin", Path(path).name).stat().st_ino

    first = deliver("true")
    assert machine(three).run([first[0]]).code == 0
    close_all()
    assert deliver("true") == first, "it was copied twice"
    second, _ = deliver("false")
    assert second != first[0] and machine(three).run([second]).code == 1


def test_a_command_line_of_its_own(three: SshHosts) -> None:
    there = machine(three)
    argv = there.command(["sh", "-c", 'cat; hostname; echo "$1"', "x", "it's $HOME"])
    done = subprocess.run(argv, input="given\n", capture_output=True, text=True, check=True)
    assert done.stdout == "given\nworker-1\nit's $HOME\n"


def test_no_route(three: SshHosts, patience: Patience) -> None:
    patience["root@198.51.100.1"] = {"ConnectTimeout": 1}
    began = time.monotonic()
    found = finding(three, worker_2="{login: root@198.51.100.1, address: 198.51.100.1, owner: Ada}")
    assert found.level == "error" and "worker-2" in found.what
    assert "it cannot be reached: " in found.message and found.message.endswith("(ask Ada)")
    assert time.monotonic() - began < 120


def test_an_unknown_name(three: SshHosts) -> None:
    found = finding(three, worker_2="{login: no-such-host.invalid, address: 198.51.100.1}")
    assert "its name is not known" in found.message and "inventory" in found.remedy


@pytest.mark.parametrize(
    ("known", "message"), [("changed", "its host key has changed"), ("unknown", "its host key is not known")]
)
def test_a_host_key_that_is_not_the_known_one(three: SshHosts, known: str, message: str) -> None:
    file = three.folder / "known_hosts"
    right = file.read_text()
    host = three.hosts[1]
    key = " ".join((three.folder / "login.pub").read_text().split()[:2])
    lines = [line for line in right.splitlines() if not line.startswith(f"{host.address} ")]
    file.write_text("\n".join([*lines, *([f"{host.address} {key}"] if known == "changed" else [])]) + "\n")
    try:
        found = finding(three)
        assert message in found.message and "worker-2" in found.what
    finally:
        file.write_text(right)


def test_a_login_that_is_refused(three: SshHosts) -> None:
    found = finding(three, worker_2=f"{{login: no-such-user@{three.hosts[1].address}, address: 198.51.100.1}}")
    assert "the login is refused: " in found.message


def test_a_login_that_may_not_become_root(three: SshHosts) -> None:
    host = three.hosts[1]
    host.run(["sh", "-c", "grep -q ^tester: /etc/passwd || echo tester:x:4711:65534::/tmp:/bin/sh >>/etc/passwd"])
    host.run(["sh", "-c", "grep -q ^tester: /etc/shadow || echo 'tester:*:1::::::' >>/etc/shadow"])
    found = finding(three, worker_2=f"{{login: tester@{host.address}, address: {host.address}}}")
    assert "root is needed, and the login may not become it without a password" in found.message
    assert "NOPASSWD" in found.remedy


def test_another_architecture(three: SshHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Delivery, "architecture", property(lambda self: "aarch64"))
    close_all()
    for finding in provider(three).preflight("process", 0):
        assert (
            f"is a machine of {os.uname().machine}, but " in finding.message
            and "is built for aarch64" in finding.message
        )


def test_all_that_a_host_lacks_is_found_at_once(three: SshHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_checks, "_LEAST_DISK", 2**60)
    monkeypatch.setattr(Base, "clock_offset_s", lambda self: -60.0)
    close_all()
    found = provider(three, worker_2="{address: 198.51.100.1}").preflight("process", 0)
    assert {each.level for each in found} == {"error"}
    second = [each for each in found if each.what == "worker-2"]
    disk, clock, address = second
    assert disk.message.startswith("its disk is full: ") and disk.remedy.startswith("make room")
    assert clock.message == "its clock is 60.0 s behind this machine's"
    assert "it has no address 198.51.100.1" in address.message and "hosts.yaml" in address.remedy
    assert len(found) == 2 * len(three.hosts) + 1, "the others have their addresses"


def test_a_host_that_vanishes_is_a_problem_until_it_is_back(three: SshHosts, patience: Patience) -> None:
    close_all()
    patience["worker-3"] = {"ServerAliveInterval": 2}
    made = provider(three)
    made.provide("process", 0, print)
    groups = three.groups()
    three.cut("worker-3")
    patience["worker-3"]["ConnectTimeout"] = 1
    try:
        (problem,) = made.problems()
        assert problem.startswith("worker-3: ")
        made.release()
        with pytest.raises(DeploymentError, match="worker-3: "):  # the next trial: its claim is the one of before
            made.provide("process", 0, print)
        (entry,) = journal.entries()
        with pytest.raises(DeploymentError, match=r"worker-3: .*\n.*loadstone down over-ssh"):
            journal.remove_all([entry.name])
    finally:
        three.cut("worker-3", "up")
        patience.clear()
    deadline = time.monotonic() + 300
    while journal.entries():
        try:
            journal.remove_all()
        except DeploymentError:
            assert time.monotonic() < deadline
    assert three.left(groups) == []
    close_all()


def test_what_a_lost_host_kept_is_ended_before_the_next_trial(three: SshHosts, tmp_path: Path) -> None:
    made, there = provider(three, "a-study-cluster"), machine(three, "worker-3")
    there.begin("a-study-123456", "digest", "a test")
    there.spawn(SpawnArgs(deployment="a-study-123456", name="a-1", argv=("sleep", "1000")))
    parts = {"worker-3": MachinePart(reach=made._reach("worker-3"), programs={})}
    left = Started(name="a-study-123456", parts=parts, replicas=())
    entry = journal.JournalEntry(
        name="a-study-left-123456",
        layer="orchestrators",
        implementation="process",
        folder=str(tmp_path),
        facts=left.model_dump(mode="json"),
    )
    journal.save(entry)
    groups = three.groups()
    made.provide("process", 0, print)
    assert [kept.deployment for kept in there.deployments()] == ["claim"]
    assert [entry.name for entry in journal.entries()] == ["a-study-cluster"]
    made.release()
    assert three.left(groups) == []


def test_what_was_spawned_outlives_its_node_and_is_found_again(three: SshHosts) -> None:
    there = machine(three)
    begun = there.begin("over-ssh-test", "digest", "a test")
    limits = NodeLimits(cpu=0.5)
    there.spawn(SpawnArgs(deployment="over-ssh-test", name="a-1", argv=("sleep", "1000"), limits=limits))
    groups, node = three.groups(), there.hello.pid
    subprocess.run(["kill", "-9", str(node)], check=True)
    while node == there_again(there):
        time.sleep(0.05)
    found = there.deployment("over-ssh-test")
    assert found is not None and [process.alive for process in found.processes] == [True]
    assert begun.group in groups
    assert there.end("over-ssh-test") == ("a-1",)
    assert three.left(groups) == []
