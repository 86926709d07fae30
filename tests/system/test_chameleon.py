"""A study on machines of an imitated OpenStack cloud, whose servers are emulated hosts with a real sshd."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from loadstone.infrastructure.namespaces import checks
from loadstone.model.cluster import Link
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.infrastructure.preparation import sources
from tests.support.openstack_cloud import PASSWORD, OpenStackCloud, openstack_cloud
from tests.support.users import User, wait
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.clusters]

STUDY = """\
version: 1
name: in-a-cloud
application: docstore
cluster:
  infrastructure: chameleon
  workers: 2
  instances: {site: chi, type: compute_cascadelake_r, login: root, hold: 2h, clock_bound: 100ms}
factors: {orchestrator: [process]}
load: {rates: [20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 2s, order: sequential}
"""
"""The bound of clocks is wide: the machine of the tests has other work. Hosts follow the same kernel's clock."""
FIRST_BOOT = """
printf '#!/bin/sh\\necho "$*" >/var/tmp/first-boot\\n' >/usr/local/bin/cloud-init
chmod 755 /usr/local/bin/cloud-init
"""
"""Shell lines by which a host has what stands in for ``cloud-init``."""
STATUS = Path("/var/lib/dpkg/status")
"""The packages of this machine."""
LOOK = """
dpkg-query -W -f '${db:Status-Status}\\n' chrony
head -n 1 /etc/chrony/conf.d/loadstone.conf
cat /var/tmp/first-boot
"""


@dataclass
class Machines:
    """The hosts that servers of the cloud are, each taken when it is requested."""

    cloud: OpenStackCloud
    hosts: SshHosts
    taken: dict[str, str] = field(default_factory=dict)

    def boot(self, name: str, key: str) -> str:
        role = re.sub(r"^loadstone-[0-9a-f]+-", "", name)
        host = self.hosts.hosts[["client-1", "worker-1", "worker-2"].index(role)]
        with open(self.hosts.folder / "authorized_keys", "a") as keys:
            keys.write(f"{key}\n")
        self.taken[role] = host.address
        return host.address


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    packages = sources.fetched(tmp_path_factory.mktemp("packages") / "debs", ["chrony", "systemd-timesyncd"])
    more = sources.USE.format(folder=packages) + sources.WITHOUT_CHRONY + FIRST_BOOT
    with ssh_hosts(3, own_roots=True, more=more) as made:
        yield made


@pytest.fixture
def machines(user: User, hosts: SshHosts) -> Iterator[Machines]:
    with openstack_cloud() as cloud:
        user.environment["OS_CLIENT_CONFIG_FILE"] = str(cloud.clouds_yaml(user.home))
        (user.home / "study.yaml").write_text(STUDY)
        made = Machines(cloud, hosts)
        cloud.boots = made.boot
        yield made
        cloud.faults, cloud.valid, cloud.before = [], True, lambda method, path: None
        user.runs("down")
        assert cloud.held() == []
        assert hosts.left([]) == []


def no_secret_in(user: User, *texts: str) -> None:
    """The password stands in none of the user's files but clouds.yaml, nor in what was printed."""
    files = [file for file in user.home.rglob("*") if file.is_file() and file.name != "clouds.yaml"]
    assert [file for file in files if PASSWORD.encode() in file.read_bytes()] == []
    assert not any(PASSWORD in text for text in texts)


def of_others(cloud: OpenStackCloud) -> None:
    """Put a server and a lease there whose names and metadata are like ours."""
    other = {"id": "x", "name": "worker-1", "metadata": {"loadstone": "loadstone-of-another"}, "status": "ACTIVE"}
    state: dict[str, object] = {
        "security_groups": [{"name": "theirs"}],
        "OS-EXT-STS:task_state": None,
        "addresses": {},
        "looks": 0,
    }
    cloud.servers["x"] = {**other, **state}
    cloud.leases["y"] = {"id": "y", "name": "loadstone-of-another-1", "status": "ACTIVE", "count": 1}


def only_of_others(cloud: OpenStackCloud) -> None:
    """Nothing else is left there, and no call tried to remove these; takes them away."""
    assert list(cloud.servers) == ["x"] and list(cloud.leases) == ["y"]
    assert not [call for call in cloud.calls if call[0] == "DELETE" and call[1].endswith(("/x", "/y"))]
    cloud.servers.clear()
    cloud.leases.clear()


def test_a_study_gets_machines_runs_and_gives_back_its_own(user: User, machines: Machines) -> None:
    of_others(machines.cloud)
    done = user.runs("run", "study.yaml")
    only_of_others(machines.cloud)
    (trial,) = user.home.glob("results/*/*/trials/*/trial.json")
    record = json.loads(trial.read_text())
    assert_answered(record["row"])
    nodes = {row["node"] for row in json.loads((trial.parent / "audit.json").read_text())}
    assert nodes == {"worker-1", "worker-2"} and set(machines.taken) == {"client-1", "worker-1", "worker-2"}
    provenance = json.loads((trial.parents[2] / "provenance.json").read_text())
    found = {node["name"]: (node["address"], bool(node["machine"]["kernel"])) for node in provenance["nodes"]}
    assert found == {name: (address, True) for name, address in machines.taken.items()}
    assert machines.cloud.held() == []
    assert json.loads(user.runs("status", "--json").stdout)["machines"] == {}
    no_secret_in(user, done.stdout, done.stderr)


@pytest.mark.long
def test_machines_are_prepared_each_on_its_own(user: User, machines: Machines) -> None:
    for host in machines.hosts.hosts:
        host.run(["sh", "-c", sources.WITHOUT_CHRONY])
    here = STATUS.read_bytes()
    done = user.runs("run", "study.yaml")
    for task in ("end of the first boot", "packages", "firewall", "clock within its bound", "swap"):
        assert f"preparing 3 machines: {task}\n" in done.stderr, done.stderr
    looks = [host.run(["sh", "-c", LOOK]).stdout.splitlines() for host in machines.hosts.hosts]
    assert looks == [["installed", "# Time of the cluster, by Loadstone.", "status --wait"]] * 3
    assert STATUS.read_bytes() == here


@pytest.mark.long
def test_machines_that_cannot_be_prepared_are_a_message_each_and_given_back(user: User, machines: Machines) -> None:
    others = machines.hosts.hosts[1:]
    for host in others:
        host.run(["sh", "-ec", "cp /etc/os-release /root/was; rm /etc/os-release"]).check_returncode()
        host.run(["sh", "-c", "printf 'NAME=Fedora\\nID=fedora\\nVERSION_ID=40\\n' >/etc/os-release"])
    try:
        refused = user.runs("run", "study.yaml", expect=3)
    finally:
        for host in others:
            host.run(["mv", "/root/was", "/etc/os-release"]).check_returncode()
    for name in ("worker-1", "worker-2"):
        assert refused.stderr.count(f"{name}: it runs Fedora 40; Debian or Ubuntu is needed") == 1, refused.stderr
    assert "instances: {prepare: false}" in refused.stderr and "client-1: " not in refused.stderr
    assert machines.cloud.held() == []


@pytest.mark.long
def test_kept_machines_are_listed_used_again_as_hosts_and_given_back(user: User, machines: Machines) -> None:
    done = user.runs("run", "study.yaml", "--keep")
    assert "infrastructure: hosts, inventory: " in done.stderr + done.stdout
    assert "preparing 3 machines" in done.stderr
    status = user.runs("status").stdout
    assert "3 machines (compute_cascadelake_r at chi" in status and "kept, until" in status and "SU so far" in status
    ((name, held),) = json.loads(user.runs("status", "--json").stdout)["machines"].items()
    assert held["machines"] == ["client-1", "worker-1", "worker-2"] and len(machines.cloud.servers) == 3
    inventory = user.home / "state" / name / "hosts.yaml"
    cluster = f"cluster: {{infrastructure: hosts, inventory: {inventory}}}\nfactors"
    again = STUDY.replace("name: in-a-cloud", "name: again")
    (user.home / "again.yaml").write_text(re.sub(r"cluster:.*?factors", cluster, again, flags=re.DOTALL))
    done = user.runs("run", "again.yaml")
    assert len(machines.cloud.servers) == 3 and "preparing" not in done.stderr
    assert "3 machines" in user.runs("down", name).stdout
    assert machines.cloud.held() == []


STEPS = {
    "the lease is requested": ("POST", "/leases"),
    "a server is requested": ("POST", "/servers"),
    "servers are built": ("GET", "/servers/detail"),
    "the address is requested": ("POST", "/floatingips"),
    "servers are deleted": ("DELETE", "/servers"),
    "the lease is ended": ("DELETE", "/leases"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_desk_that_is_killed_holds_nothing_that_the_journal_does_not_list(
    user: User, machines: Machines, step: str
) -> None:
    (user.home / "study.yaml").write_text(STUDY.replace("hold: 2h", "hold: 2h, prepare: false"))
    method, path = STEPS[step]
    reached: list[str] = []

    def kill(called: str, target: str) -> None:
        if called == method and path in target and not reached and len(machines.taken) >= (path == "/servers/detail"):
            reached.append(target)
            os.kill(process.pid, signal.SIGKILL)

    process = user.starts("run", "study.yaml")
    machines.cloud.before = kill
    wait(lambda: process.poll() is not None)
    printed = process.communicate()
    assert process.returncode == -signal.SIGKILL and reached, printed
    ((name, listed),) = json.loads(user.runs("status", "--json").stdout)["machines"].items()
    assert name.startswith("in-a-cloud-")
    assert [each for each in machines.cloud.held() if not each.startswith(listed["token"])] == []
    user.runs("down")
    assert machines.cloud.held() == []
    assert json.loads(user.runs("status", "--json").stdout)["deployments"] == []
    no_secret_in(user, *printed)


@pytest.mark.long
def test_a_desk_that_is_killed_while_it_prepares_leaves_what_the_journal_lists(user: User, machines: Machines) -> None:
    process = user.starts("run", "study.yaml")
    assert process.stderr is not None
    assert any("preparing 3 machines: " in line for line in process.stderr)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    ((_, listed),) = json.loads(user.runs("status", "--json").stdout)["machines"].items()
    assert len(listed["machines"]) == len(machines.cloud.servers) == 3
    user.runs("down")
    assert machines.cloud.held() == []
