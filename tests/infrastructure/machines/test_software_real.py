"""What hosts over real SSH lack for Docker, or have too much, in one message each; packages are installed there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.hosts import Hosts, packages
from loadstone.infrastructure.machines import close_all, connect
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.software.docker import Docker
from loadstone.infrastructure.software.swarm import Swarm
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.support.daemons import Daemon

pytestmark = [pytest.mark.root, pytest.mark.docker]

OWN_PROGRAMS = """
rm -f /run/started /run/fails
for folder in bin sbin; do
  own=$(mktemp -d /run/own.XXXXXX)
  mkdir $own/upper $own/work
  mount -t overlay -o lowerdir=/usr/$folder,upperdir=$own/upper,workdir=$own/work overlay /usr/$folder
done
cp -p /usr/sbin/dockerd /run/dockerd
rm /usr/sbin/dockerd /usr/sbin/policy-rc.d || true
cat >/usr/bin/apt-get <<'END'
#!/bin/sh
echo "$* policy=$(/usr/sbin/policy-rc.d; echo $?)" >>/run/started
[ -z "$(cat /run/fails 2>/dev/null)" ] || { cat /run/fails >&2; exit 100; }
[ "$1" = update ] || cp -p /run/dockerd /usr/sbin/dockerd
END
chmod 755 /usr/bin/apt-get
"""
"""The host's own layers over programs: without Docker's, and with an apt-get that records how it is started."""
LISTENS = """
import socket
server = socket.socket(socket.AF_UNIX)
server.bind("/run/docker.sock")
server.listen()
print("ready", flush=True)
server.accept()
"""


@pytest.fixture(scope="module")
def two() -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [each.message for each in Namespaces(Cluster(), "x").preflight("swarm", 1) if each.level == "error"]:
        pytest.skip("; ".join(lacking))
    with ssh_hosts(2) as made:
        yield made
        close_all()


@pytest.fixture(autouse=True)
def own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))


def findings(two: SshHosts, **cluster: bool) -> list[Finding]:
    """What a preflight of Docker has beyond what hosts are."""
    hosts = Hosts(Cluster(infrastructure="hosts", inventory=str(two.inventory()), **cluster), "test")
    return [finding for finding in hosts.preflight("docker", 0) if finding.level != "ok" and finding.what != "swap"]


@contextlib.contextmanager
def without_docker(host: Host) -> Iterator[None]:
    host.run(["sh", "-ec", OWN_PROGRAMS]).check_returncode()
    try:
        yield
    finally:
        host.run(["umount", "--lazy", "/usr/bin", "/usr/sbin"]).check_returncode()


def test_hosts_that_lack_nothing(two: SshHosts) -> None:
    assert findings(two) == []


def test_an_engine_of_the_host_s_own(two: SshHosts) -> None:
    Daemon(two.hosts[1], "engine", ["python3", "-c", LISTENS]).awaits("ready")
    try:
        (found,) = findings(two)
    finally:
        connect("worker-2", two.hosts[1].reach).end("engine")
    assert found.level == "error" and "systemctl stop docker.service docker.socket" in found.remedy
    assert found.message.startswith("worker-2: a Docker engine of its own listens at /var/run/docker.sock")


def test_an_active_firewall_is_a_warning(two: SshHosts) -> None:
    host = two.hosts[0]
    host.run(["iptables", "-N", "ufw-user-input"]).check_returncode()
    try:
        (found,) = findings(two)
    finally:
        host.run(["iptables", "-X", "ufw-user-input"]).check_returncode()
    assert found.level == "warning" and found.message.startswith("worker-1: the firewall ufw is active")


def test_no_engine_is_installed(two: SshHosts) -> None:
    with without_docker(two.hosts[1]):
        (found,) = findings(two)
        assert (found.level, found.message) == ("error", "worker-2: dockerd is not installed")
        remedy = "sudo apt-get install -y docker.io on worker-2, or set cluster.install: true, which does that"
        assert found.remedy == remedy
        (found,) = findings(two, install=True)
        assert (found.level, found.message) == ("warning", "docker.io will be installed")


def test_packages_are_installed_where_they_are_missing_and_start_no_service(two: SshHosts) -> None:
    machines = [connect(host.name, host.reach) for host in two.hosts]
    steps: list[str] = []
    with without_docker(two.hosts[1]):
        packages.install(Docker(), machines, steps.append)
        started = two.hosts[1].run(["cat", "/run/started"]).stdout.splitlines()
        policy = two.hosts[1].run(["ls", "/usr/sbin/policy-rc.d"])
    assert steps == ["installing docker.io on worker-2"]
    assert started == [
        "update -q policy=101",
        "install -q -y --no-install-recommends docker.io policy=101",
    ]
    assert policy.returncode != 0, "the policy against starting services is gone"


def test_packages_that_cannot_be_installed(two: SshHosts) -> None:
    with without_docker(two.hosts[1]):
        two.hosts[1].run(["sh", "-c", "echo 'E: no archive answers' >/run/fails"])
        with pytest.raises(DeploymentError, match=r"worker-2: docker\.io cannot be installed: E: no archive answers"):
            packages.install(Swarm(), [connect("worker-2", two.hosts[1].reach)], print)
