"""What is left on hosts over SSH of Kubernetes that Loadstone started there, even if the desk is killed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from loadstone.infrastructure.namespaces import Namespaces
from loadstone.model.cluster import Cluster
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.support import applications
from tests.support.users import User, wait

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.kubernetes, pytest.mark.timeout(1800)]

STUDY = """\
version: 1
name: on-hosts
application: application.yaml
orchestrator: kubernetes
cluster: {infrastructure: hosts, inventory: INVENTORY, workers: 2}
resources: RESOURCES
load: {rates: [20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 5s}
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[SshHosts]:
    """Three, of which the last is the manager; the first does not forward packets, as machines by default."""
    if SSHD is None:
        pytest.skip("needs openssh-server")
    findings = Namespaces(Cluster(workers=2), "preflight").preflight("kubernetes", 1)
    if lacking := [finding.message for finding in findings if finding.level == "error"]:
        pytest.skip("; ".join(lacking))
    with ssh_hosts(3) as made:
        made.hosts[0].run(["sh", "-c", "echo 0 >/proc/sys/net/ipv4/ip_forward"]).check_returncode()
        yield made


@pytest.fixture
def desk(hosts: SshHosts) -> Iterator[User]:
    """A user of the hosts, on which nothing may be left afterwards."""
    before = {host.name: hosts.traces(host.name) for host in hosts.hosts}
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        home = Path(name)
        home.chmod(0o755)
        user, shop = User(home), applications.shop()
        user.environment["LOADSTONE_DATA"] = f"{name}/data"  # the hosts are in the journal of this process
        (home / "application.yaml").write_text(yaml.safe_dump(shop))
        inventory = hosts.inventory(worker_3=f"{{address: {hosts.hosts[2].address}, roles: [manager]}}")
        limits = json.dumps(applications.limits(shop))
        (home / "study.yaml").write_text(STUDY.replace("INVENTORY", str(inventory)).replace("RESOURCES", limits))
        yield user
        user.runs("down")
    assert hosts.differences(before) == {}


def test_nothing_is_left_of_a_desk_that_is_killed(hosts: SshHosts, desk: User) -> None:
    process = desk.starts("run", "study.yaml")
    desk.waits_until_a_trial_is_loaded(process, finished=0)
    groups = hosts.groups()
    assert groups and "link cni0" in hosts.traces("worker-1") | hosts.traces("worker-2")
    assert any(line.startswith("route 10.244.") for line in hosts.traces("worker-3"))
    process.kill()
    process.communicate(timeout=60)
    desk.runs("down")
    assert hosts.left(groups) == []


@pytest.mark.long
def test_a_host_that_vanishes_makes_its_trial_invalid(hosts: SshHosts, desk: User) -> None:
    process = desk.starts("run", "study.yaml")
    desk.waits_until_a_trial_is_loaded(process, finished=0)
    groups = hosts.groups()
    hosts.cut("worker-2")
    try:
        wait(lambda: sum(desk.trials().values()) == 1 or process.poll() is not None)
    finally:
        hosts.cut("worker-2", "up")
    printed = "".join(process.communicate(timeout=600))
    assert process.returncode == 4 and "Traceback" not in printed, printed
    (trial,) = desk.home.glob("results/*/*/trials/*/trial.json")
    verdict = json.loads(trial.read_text())["verdict"]
    assert verdict["verdict"] == "invalid" and "worker-2" in str(verdict["reasons"]), verdict
    desk.runs("down")
    assert hosts.left(groups) == []
