"""What is left on hosts over SSH of a swarm that Loadstone made of them, whatever ended its study."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from loadstone.infrastructure.namespaces import Namespaces
from loadstone.model.cluster import Cluster
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.clusters import folders
from tests.support.users import User, wait

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.docker, pytest.mark.timeout(1200)]

ROLES = {"worker_4": "{address: ADDRESS, roles: [manager]}"}


@pytest.fixture(scope="module")
def four() -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    findings = Namespaces(Cluster(), "preflight").preflight("swarm", 1)
    if lacking := [finding.message for finding in findings if finding.level == "error"]:
        pytest.skip("; ".join(lacking))
    with folders(), ssh_hosts(4) as made:
        yield made


@pytest.fixture
def person(four: SshHosts) -> Iterator[User]:
    """A user of the hosts, on which nothing may be left afterwards."""
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        home = Path(name)
        user, shop = User(home), applications.shop()
        (home / "application.yaml").write_text(yaml.safe_dump(shop))
        manager = four.hosts[-1]
        inventory = four.inventory(**{key: line.replace("ADDRESS", manager.address) for key, line in ROLES.items()})
        cluster = {"infrastructure": "hosts", "inventory": str(inventory), "workers": 3}
        settings = {"application": str(home / "application.yaml"), "resources": applications.limits(shop)}
        study = docker_clusters.study("on-hosts", "swarm", cluster=cluster, **settings)
        (home / "study.yaml").write_text(yaml.safe_dump(study))
        names = [host.name for host in four.hosts]
        before = {name: four.traces(name) for name in names}
        yield user
        user.runs("down")
        assert four.left(()) == []
        assert four.differences(before) == {}


def deployments(user: User) -> list[str]:
    """What the journal has: clusters, and what is deployed on them."""
    found: list[str] = json.loads(user.runs("status", "--json").stdout)["deployments"]
    return found


def test_nothing_is_left_of_a_desk_that_is_killed(four: SshHosts, person: User) -> None:
    study, docstore = yaml.safe_load((person.home / "study.yaml").read_text()), applications.patient("docstore")
    (person.home / "application.yaml").write_text(yaml.safe_dump(docstore))
    (person.home / "study.yaml").write_text(yaml.safe_dump(study | {"resources": applications.limits(docstore)}))
    process = person.starts("run", "study.yaml")
    person.waits_until_a_trial_is_loaded(process, finished=0)
    groups = four.groups()
    assert any("link docker_gwbridge" in four.traces(host.name) for host in four.hosts)
    process.kill()
    process.communicate(timeout=60)
    (deployment,) = [name for name in deployments(person) if not name.endswith("-cluster")]
    person.runs("down", deployment)  # through engines that are reached anew, with the cluster still there
    assert [name for name in deployments(person) if not name.endswith("-cluster")] == []
    assert any("link docker_gwbridge" in four.traces(host.name) for host in four.hosts)
    person.runs("down")
    assert four.left(groups) == []


@pytest.mark.long
def test_a_node_that_is_killed_costs_its_trial_and_no_cluster(four: SshHosts, person: User) -> None:
    study = yaml.safe_load((person.home / "study.yaml").read_text())
    study["trial"]["duration"] = "30s"  # it is killed in the trial, however slowly this test goes on
    (person.home / "study.yaml").write_text(yaml.safe_dump(study))
    process = person.starts("run", "study.yaml")
    person.waits_until_a_trial_is_loaded(process, finished=0)
    groups = four.groups()
    command = ["ip", "netns", "pids", f"{four.emulated.cluster}-worker-2"]
    pids = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    nodes = [pid for pid in pids if _command(pid).startswith(b"/var/lib/loadstone/bin/stone-")]
    assert nodes
    for pid in nodes:
        os.kill(pid, signal.SIGKILL)
    assert person.rows() == []
    printed = "".join(process.communicate(timeout=600))
    assert process.returncode == 4 and "Traceback" not in printed, printed
    (row,) = person.rows()
    assert row["verdict"] == "invalid" and "worker-2: its node has ended" in str(row["reasons"]), row
    assert four.left(groups) == []


@pytest.mark.long
def test_a_host_that_vanishes_makes_its_trial_invalid(four: SshHosts, person: User) -> None:
    process = person.starts("run", "study.yaml")
    person.waits_until_a_trial_is_loaded(process, finished=0)
    groups = four.groups()
    four.cut("worker-3")
    try:
        wait(lambda: bool(person.rows()) or process.poll() is not None)
    finally:
        four.cut("worker-3", "up")
    printed = "".join(process.communicate(timeout=600))
    assert process.returncode == 4 and "Traceback" not in printed, printed
    (row,) = person.rows()
    assert row["verdict"] == "invalid" and "worker-3" in str(row["reasons"]), row
    person.runs("down")
    assert four.left(groups) == []


def _command(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
