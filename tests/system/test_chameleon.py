"""A study on machines of an imitated OpenStack cloud, whose servers are emulated hosts with a real sshd."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from loadstone.infrastructure.namespaces import checks
from loadstone.model.cluster import Link
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.support.openstack_cloud import PASSWORD, OpenStackCloud, openstack_cloud
from tests.support.users import User, wait

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.clusters]

STUDY = """\
version: 1
name: in-a-cloud
application: hotel-reservation
cluster:
  infrastructure: chameleon
  workers: 2
  instances: {site: chi, type: compute_cascadelake_r, login: root, hold: 2h}
factors: {orchestrator: [process]}
load: {rates: [20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 2s, order: sequential}
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
def hosts() -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    with ssh_hosts(3) as made:
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


def test_a_study_gets_machines_runs_and_gives_them_back(user: User, machines: Machines) -> None:
    done = user.runs("run", "study.yaml")
    (trial,) = user.home.glob("results/*/*/trials/*/trial.json")
    record = json.loads(trial.read_text())
    assert record["verdict"]["verdict"] == "held", done.stdout + done.stderr
    nodes = {row["node"] for row in json.loads((trial.parent / "audit.json").read_text())}
    assert nodes == {"worker-1", "worker-2"} and set(machines.taken) == {"client-1", "worker-1", "worker-2"}
    provenance = json.loads((trial.parents[2] / "provenance.json").read_text())
    found = {node["name"]: (node["address"], bool(node["machine"]["kernel"])) for node in provenance["nodes"]}
    assert found == {name: (address, True) for name, address in machines.taken.items()}
    assert machines.cloud.held() == []
    assert json.loads(user.runs("status", "--json").stdout)["machines"] == {}
    no_secret_in(user, done.stdout, done.stderr)


def test_kept_machines_are_listed_used_again_as_hosts_and_given_back(user: User, machines: Machines) -> None:
    done = user.runs("run", "study.yaml", "--keep")
    assert "infrastructure: hosts, inventory: " in done.stderr + done.stdout
    status = user.runs("status").stdout
    assert "3 machines (compute_cascadelake_r at chi" in status and "kept, until" in status and "SU so far" in status
    ((name, held),) = json.loads(user.runs("status", "--json").stdout)["machines"].items()
    assert held["machines"] == ["client-1", "worker-1", "worker-2"] and len(machines.cloud.servers) == 3
    inventory = user.home / "state" / name / "hosts.yaml"
    cluster = f"cluster: {{infrastructure: hosts, inventory: {inventory}}}\nfactors"
    again = STUDY.replace("name: in-a-cloud", "name: again")
    (user.home / "again.yaml").write_text(re.sub(r"cluster:.*?factors", cluster, again, flags=re.DOTALL))
    user.runs("run", "again.yaml")
    assert len(machines.cloud.servers) == 3
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


def test_what_belongs_to_others_is_never_touched(user: User, machines: Machines) -> None:
    other = {"id": "x", "name": "worker-1", "metadata": {"loadstone": "loadstone-of-another"}, "status": "ACTIVE"}
    state: dict[str, object] = {
        "security_groups": [{"name": "theirs"}],
        "OS-EXT-STS:task_state": None,
        "addresses": {},
        "looks": 0,
    }
    machines.cloud.servers["x"] = {**other, **state}
    machines.cloud.leases["y"] = {"id": "y", "name": "loadstone-of-another-1", "status": "ACTIVE", "count": 1}
    user.runs("run", "study.yaml")
    assert list(machines.cloud.servers) == ["x"] and list(machines.cloud.leases) == ["y"]
    assert not [call for call in machines.cloud.calls if call[0] == "DELETE" and call[1].endswith(("/x", "/y"))]
    machines.cloud.servers.clear()
    machines.cloud.leases.clear()
