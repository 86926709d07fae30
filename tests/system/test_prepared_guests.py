"""``loadstone prepare`` on virtual machines: a kernel, a clock and a root of their own, and no Python at first."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from loadstone.infrastructure.machines import connect
from loadstone.infrastructure.qemu import Qemu, guests, image
from loadstone.model.cluster import Cluster, Node
from loadstone.model.guest import Vm
from tests.infrastructure.preparation import sources
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.clusters import folders
from tests.support.users import User

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.long, pytest.mark.timeout(3600)]

PYTHON = ("python3", "python3-apt")
"""What Ansible needs on a host."""
PREPARE = ("prepare", "hosts.yaml", "--for", "process", "--clock-bound", "100ms", "--yes")
"""The bound is wide: processors of software keep time badly."""
STATE = """
dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\\n' | grep '^installed'
cat /etc/fstab
for file in /etc/chrony/conf.d/* /etc/sudoers.d/zz-loadstone /var/lib/loadstone/preparation.json; do
  [ ! -e $file ] || echo $file
done
[ -z "$(pgrep -x chronyd)" ] || echo chronyd
"""
"""What preparation may change."""


@dataclass
class PreparedGuests:
    """Two virtual machines, ``config`` by which ssh knows them, and the user who prepares them."""

    nodes: list[Node]
    config: Path
    user: User

    def run(self, node: Node, command: str, given: bytes = b"") -> str:
        ssh = ["ssh", "-F", str(self.config), node.name, command]
        done = subprocess.run(ssh, input=given, capture_output=True, check=False, timeout=1200)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def states(self) -> list[set[str]]:
        return [set(self.run(node, STATE).splitlines()) for node in self.nodes]


@pytest.fixture
def two(tmp_path: Path) -> Iterator[PreparedGuests]:
    if lacking := [*guests.missing(), *image.missing()]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    with folders() as home:
        infrastructure = Qemu(Cluster(infrastructure="qemu", workers=2), "prepared").in_guests(Vm(memory=2**30))
        try:
            nodes = [node for node in infrastructure.provide("process", 0, print).nodes if node.guest]
            made = PreparedGuests(nodes, Path(nodes[0].reach.options["config"]), User(home))
            installed = made.run(nodes[0], "cat /var/lib/dpkg/status").encode()
            packages = sources.needed(tmp_path / "debs", installed, [*PYTHON, "chrony", "sudo"])
            archive = subprocess.run(["tar", "-C", packages, "-c", "."], capture_output=True, check=True).stdout
            for node in nodes:
                machine = connect(node.name, node.reach)
                for held in machine.deployments():  # what made them lets a study use them as hosts
                    machine.end(held.deployment)
                made.run(node, "mkdir /debs && tar -C /debs --no-same-owner -x", archive)
                made.run(node, "set -e" + sources.USE.format(folder="/debs"))
                made.run(node, "echo '/swap none swap sw 0 0' >>/etc/fstab")
                # A kernel sets its clock from that of its hardware, which has whole seconds; hosts may differ by one.
                made.run(node, f"date --set=@{time.time():.3f}")
            hosts = {node.name: {"address": node.address} for node in nodes}
            inventory = {"ssh": {"config": str(made.config)}, "hosts": hosts}
            (made.user.home / "hosts.yaml").write_text(yaml.safe_dump(inventory))
            yield made
        finally:
            infrastructure.release()


def test_guests_are_prepared_once_run_a_study_and_are_as_before(two: PreparedGuests) -> None:
    refused = two.user.runs(*PREPARE, expect=3).stderr
    for node in two.nodes:
        assert f"{node.name}: it has no Python, which Ansible needs there" in refused
        two.run(node, f"apt-get update -q && apt-get install -q -y --no-install-recommends {' '.join(PYTHON)}")
    bare = two.states()
    done = two.user.runs(*PREPARE)
    assert "changed 2 of 2 hosts" in done.stdout, done.stdout + done.stderr
    prepared = two.states()
    for before, after in zip(bare, prepared, strict=True):
        assert after - before >= {"chronyd", "/etc/chrony/conf.d/loadstone.conf"}, after - before
        assert before - after == {"/swap none swap sw 0 0"}

    again = two.user.runs(*PREPARE)
    assert "nothing to change" in again.stdout, again.stdout + again.stderr
    assert two.states() == prepared

    shop = applications.shop()
    (two.user.home / "application.yaml").write_text(yaml.safe_dump(shop))
    cluster = {"infrastructure": "hosts", "inventory": "hosts.yaml", "workers": 2, "machine": "vm"}
    study = docker_clusters.study("guests", "process", cluster=cluster, application="application.yaml", resources={})
    study["load"]["rates"] = [2]
    (two.user.home / "study.yaml").write_text(yaml.safe_dump(study))
    ran = two.user.runs("run", "study.yaml", "--emulated-ok")
    (row,) = two.user.rows()
    assert row["verdict"] != "invalid" and row["completed"], ran.stdout + ran.stderr

    two.user.runs("prepare", "hosts.yaml", "--undo", "--yes")
    assert [before ^ after for before, after in zip(bare, two.states(), strict=True)] == [set(), set()]
