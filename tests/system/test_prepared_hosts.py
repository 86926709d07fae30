"""``loadstone prepare`` on three hosts with a root of their own each, over real SSH, with real packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from loadstone.infrastructure.namespaces import Namespaces
from loadstone.model.cluster import Cluster
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.infrastructure.preparation import sources
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.clusters import folders
from tests.support.users import User
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.docker]

STATUS = Path("/var/lib/dpkg/status")
"""The packages of this machine."""
LACKS_CONNTRACK = """
dpkg --purge --force-depends conntrack >/dev/null 2>&1
echo '/swap none swap sw 0 0' >>/etc/fstab
"""
LOOK = """
for fields in '${Package}' '${Package} ${Version}'; do
  dpkg-query -W -f "\\${db:Status-Status} $fields\\n" | grep "^installed"
done
cat /etc/fstab
for file in /etc/chrony/conf.d/* /etc/sudoers.d/zz-loadstone /usr/sbin/policy-rc.d \\
  /var/lib/loadstone/preparation.json; do
  [ ! -e $file ] || echo $file
done
for pid in $(pgrep -x chronyd); do
  [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ] || echo chronyd
done
"""
"""What preparation may change on a host. Processes of other hosts are seen there, too."""
PREPARE = ("prepare", "hosts.yaml", "--for", "swarm", "--for", "kubernetes", "--clock-bound", "100ms")
"""The bound is wide: the machine of the tests has other work. Hosts follow the same kernel's clock."""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    findings = Namespaces(Cluster(), "preflight").preflight("swarm", 1)
    if lacking := [finding.message for finding in findings if finding.level == "error"]:
        pytest.skip("; ".join(lacking))
    packages = sources.fetched(
        tmp_path_factory.mktemp("packages") / "debs",
        ["chrony", "conntrack", "systemd-timesyncd"],
        newer=["systemd-timesyncd"],
    )
    more = sources.USE.format(folder=packages) + sources.WITHOUT_CHRONY + LACKS_CONNTRACK
    with folders(), ssh_hosts(3, own_roots=True, more=more) as made:
        yield made


@pytest.fixture
def person(three: SshHosts, user: User) -> Iterator[User]:
    """A user of the hosts, which are at the end as they were before."""
    for host in three.hosts:
        host.run(["sh", "-ec", sources.MEASURES]).check_returncode()
    before = [look(three, host.name) for host in three.hosts]
    manager = three.hosts[0]
    shutil.copy(three.inventory(worker_1=f"{{address: {manager.address}, roles: [manager]}}"), user.home / "hosts.yaml")
    yield user
    user.runs("prepare", "hosts.yaml", "--undo", "--yes")
    assert [look(three, host.name) for host in three.hosts] == before


def look(three: SshHosts, name: str) -> set[str]:
    host = next(host for host in three.hosts if host.name == name)
    done = host.run(["sh", "-ec", LOOK])
    done.check_returncode()
    return set(done.stdout.splitlines())


def test_hosts_are_prepared_once_and_a_swarm_runs_on_them(three: SshHosts, person: User) -> None:
    bare, here = look(three, "worker-2"), STATUS.read_bytes()
    shown = person.runs(*PREPARE, expect=2)
    assert shown.stdout.count(": packages: install chrony, conntrack") == 3
    assert "    +# loadstone: /swap none swap sw 0 0" in shown.stdout
    assert "--yes changes hosts without it" in shown.stderr
    assert look(three, "worker-2") == bare, "only shown"

    done = person.runs(*PREPARE, "--yes")
    assert "worker-2: packages: done" in done.stderr and "changed 3 of 3 hosts" in done.stdout
    clocks = [line for line in done.stdout.splitlines() if ": clock: " in line]
    assert len(clocks) == 3 and clocks[1].endswith(f"us from {three.hosts[0].address}"), clocks
    prepared = look(three, "worker-2")
    assert prepared - bare >= {
        "installed chrony",
        "installed conntrack",
        "/etc/chrony/conf.d/loadstone.conf",
        "chronyd",
    }
    assert look(three, "worker-3") - prepared == set() and STATUS.read_bytes() == here, "each host has its own packages"

    again = person.runs(*PREPARE, "--yes")
    assert "nothing to change" in again.stdout and again.stdout.count(": clock: ") == 3
    assert look(three, "worker-2") == prepared

    runs_a_study(three, person, "swarm")


def runs_a_study(three: SshHosts, person: User, orchestrator: str) -> None:
    """Run one on the hosts; afterwards nothing of it is there."""
    docstore = applications.patient("docstore")
    (person.home / "application.yaml").write_text(yaml.safe_dump(docstore))
    cluster = {"infrastructure": "hosts", "inventory": "hosts.yaml", "workers": 2}
    settings = {"application": "application.yaml", "resources": applications.limits(docstore, cpu=0.08)}
    (person.home / "study.yaml").write_text(
        yaml.safe_dump(docker_clusters.study("prepared", orchestrator, cluster=cluster, **settings))
    )
    person.runs("run", "study.yaml")
    (row,) = person.rows()
    assert_answered(row)
    person.runs("down")
    assert three.left(()) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "orchestrator",
    [
        pytest.param("nomad", marks=pytest.mark.nomad),
        pytest.param("kubernetes", marks=pytest.mark.kubernetes),
    ],
)
def test_other_clusters_run_on_prepared_hosts(three: SshHosts, person: User, orchestrator: str) -> None:
    findings = Namespaces(Cluster(workers=2), "preflight").preflight(orchestrator, 1)
    if lacking := [finding.message for finding in findings if finding.level == "error"]:
        pytest.skip("; ".join(lacking))
    person.runs("prepare", "hosts.yaml", "--for", orchestrator, "--clock-bound", "100ms", "--yes")
    runs_a_study(three, person, orchestrator)


@pytest.mark.long
def test_an_error_is_a_message_for_each_host_and_the_next_run_goes_on(three: SshHosts, person: User) -> None:
    _, second, third = three.hosts
    second.run(["sh", "-c", "echo tester:x:4711:65534::/tmp:/bin/sh >>/etc/passwd"]).check_returncode()
    second.run(["sh", "-c", "echo 'tester:*:1::::::' >>/etc/shadow"]).check_returncode()
    third.run(["sh", "-ec", "cp /etc/os-release /run/was; rm /etc/os-release"]).check_returncode()
    third.run(["sh", "-c", "printf 'NAME=Fedora\\nID=fedora\\nVERSION_ID=40\\n' >/etc/os-release"]).check_returncode()
    inventory = three.inventory(
        worker_1="{login: root@198.51.100.1, address: 198.51.100.1}",
        worker_2=f"{{login: tester@{second.address}, address: {second.address}}}",
    )
    try:
        refused = person.runs("prepare", str(inventory), "--yes", expect=3)
    finally:
        third.run(["mv", "/run/was", "/etc/os-release"]).check_returncode()
    for message in (
        "error: worker-1: it cannot be reached: ",
        "error: worker-2: root is needed, and the login may not become it without a password",
        "error: worker-3: it runs Fedora 40; Debian or Ubuntu is needed",
        "error: 3 of 3 hosts failed; nothing was changed",
    ):
        assert message in refused.stderr, refused.stderr

    third.run(["mv", "/etc/apt/sources.list", "/run/sources"]).check_returncode()
    try:
        refused = person.runs(*PREPARE, "--yes", expect=3)
    finally:
        third.run(["mv", "/run/sources", "/etc/apt/sources.list"]).check_returncode()
    (complaint,) = (line for line in refused.stderr.splitlines() if line.startswith("error: worker-"))
    assert complaint.startswith("error: worker-3: no package source "), refused.stderr
    assert "2 of 3 hosts were changed; run it again" in refused.stderr
    person.runs(*PREPARE, "--yes")
    assert "nothing to change" in person.runs(*PREPARE, "--yes").stdout


@pytest.mark.long
def test_rendered_files_prepare_without_loadstone(three: SshHosts, person: User) -> None:
    study = {
        "version": 1,
        "name": "rendered",
        "application": "hotel-reservation",
        "load": {"rates": [1], "slo": {"p99": "1s"}},
    }
    (person.home / "study.yaml").write_text(yaml.safe_dump(study))
    person.runs("render", "study.yaml", "--infrastructure", "ansible", "-o", "machines")
    folder = person.home / "machines"
    groups = yaml.safe_load((folder / "inventory.yaml").read_text())
    groups["all"]["vars"] |= {"ansible_ssh_common_args": f"-F {three.config}", "clock_bound_us": 100_000}
    hosts = {name: group["hosts"] for name, group in groups["all"]["children"].items()}
    for (_, host), there in zip([*hosts["workers"].items(), *hosts["clients"].items()], three.hosts, strict=False):
        host |= {"ansible_host": there.name, "address": there.address}
    (folder / "inventory.yaml").write_text(yaml.safe_dump(groups))
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yaml", "site.yaml"]
    environment = {**os.environ, "ANSIBLE_HOME": str(person.home / "ansible"), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    listed = yaml.safe_load((folder / "hosts.yaml").read_text())["hosts"]
    assert {host["address"]: host["roles"] for host in listed.values()} == {
        three.hosts[0].address: ["worker"],
        three.hosts[1].address: ["client"],
    }
    assert "installed chrony" in look(three, "worker-1") - look(three, "worker-3")
