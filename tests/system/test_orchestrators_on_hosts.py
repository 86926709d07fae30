"""One study on three hosts over SSH: processes, then Swarm, Nomad and Kubernetes, each put there and removed again."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.infrastructure.namespaces import Namespaces
from loadstone.model.cluster import Cluster
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.support import applications
from tests.support.users import User
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.kubernetes, pytest.mark.timeout(1800)]

ORCHESTRATORS = ("process", "swarm", "nomad", "kubernetes")
STUDY = """\
version: 1
name: on-hosts
application: application.yaml
cluster: {infrastructure: hosts, inventory: INVENTORY, workers: 2}
resources: RESOURCES
factors: {orchestrator: [ORCHESTRATORS]}
load: {rates: [15], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 5s, order: sequential}
"""


@pytest.fixture
def hosts() -> Iterator[SshHosts]:
    """Three, of which the last is the manager; the first does not forward packets, as machines by default."""
    if SSHD is None:
        pytest.skip("needs openssh-server")
    for software in ORCHESTRATORS[1:]:
        findings = Namespaces(Cluster(workers=2), "preflight").preflight(software, 1)
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
        values = {
            "INVENTORY": str(hosts.inventory(worker_3=f"{{address: {hosts.hosts[2].address}, roles: [manager]}}")),
            "RESOURCES": json.dumps(applications.limits(shop, cpu=0.08)),
            "ORCHESTRATORS": ", ".join(ORCHESTRATORS),
        }
        text = STUDY
        for key, value in values.items():
            text = text.replace(key, value)
        (home / "study.yaml").write_text(text)
        yield user
        user.runs("down")
    assert hosts.left([]) == []
    assert hosts.differences(before) == {}


def test_one_study_on_every_orchestrator(hosts: SshHosts, desk: User) -> None:
    desk.runs("run", "study.yaml")
    rows = desk.rows()
    assert [row["treatment"] for row in rows] == [f"orchestrator={name}" for name in ORCHESTRATORS]
    assert_answered(*rows)
    (trials,) = desk.home.glob("results/*/*/trials")
    for row in rows:
        trial = trials / row["trial_id"]
        audited = json.loads((trial / "audit.json").read_text())
        assert [each for each in audited if not each["ok"]] == [], row["treatment"]
        assert {each["node"] for each in audited} == {"worker-1", "worker-2"}, row["treatment"]
        assert {"cpu", "memory", "cores", "environment"} <= {each["what"] for each in audited}, row["treatment"]
        assert {each["effective"] for each in audited if each["what"] == "cpu"} == {"0.08"}, row["treatment"]
        counted = set(pq.read_table(trial / "metrics.parquet", columns=["node"])["node"].to_pylist())
        assert counted >= {"worker-1", "worker-2"}, row["treatment"]
    assert json.loads(desk.runs("status", "--json").stdout)["deployments"] == []
