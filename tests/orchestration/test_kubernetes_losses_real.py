"""Hosts that vanish during a study on Kubernetes: a manager of three is not missed, a worker is, and comes back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.infrastructure import journal
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.host import Host
from loadstone.model.cluster import Cluster
from tests.support import applications
from tests.support.users import User
from tests.traces import snapshot

pytestmark = [pytest.mark.root, pytest.mark.kubernetes, pytest.mark.timeout(1800)]

STUDY = """\
version: 1
name: losses
application: application.yaml
orchestrator: kubernetes
high_availability: on
cluster: {infrastructure: namespaces, workers: 2}
resources: RESOURCES
load: {rates: [10, 11, 12, 13], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 4}
trial: {warmup: 1s, duration: 8s, order: sequential}
"""


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    """A user in a folder whose path is short enough for sockets; what they leave behind is an error."""
    cluster = Namespaces(Cluster(infrastructure="namespaces", workers=2), "unused")
    if wrong := [finding.message for finding in cluster.preflight("kubernetes", 3) if finding.level == "error"]:
        pytest.skip("; ".join(wrong))
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        Path(name).chmod(0o755)
        monkeypatch.setenv("LOADSTONE_DATA", f"{name}/data")
        monkeypatch.setenv("LOADSTONE_STATE", f"{name}/state")
        user = User(Path(name))
        yield user
        user.runs("down")
        assert journal.entries() == []


def hosts(user: User) -> tuple[str, dict[str, Host]]:
    """The cluster that is there now: its id and its hosts."""
    (entry,) = (entry for entry in journal.entries() if entry.layer == "infrastructure")
    return entry.facts["id"], {host.name: host for host in EmulatedHosts.of(entry.facts).hosts}


def rows(user: User) -> list[dict[str, Any]]:
    """The finished trials, in order."""
    files = user.home.glob("results/*/*/trials/*/trial.json")
    return sorted((json.loads(file.read_text())["row"] for file in files), key=lambda row: row["order"])


@pytest.mark.long
def test_a_manager_is_not_missed_and_a_worker_comes_back(user: User) -> None:
    shop = applications.shop()
    (user.home / "application.yaml").write_text(yaml.safe_dump(shop))
    (user.home / "study.yaml").write_text(STUDY.replace("RESOURCES", json.dumps(applications.limits(shop))))
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    first, there = hosts(user)
    there["manager-1"].stop()  # the first: a client that knew it alone would be lost now
    user.waits_until_a_trial_is_loaded(process, finished=1)
    there["worker-2"].stop()
    user.waits_until_a_trial_is_loaded(process, finished=2)
    second, _ = hosts(user)
    output, complained = process.communicate()

    assert first != second  # healed: a new cluster
    assert [row["rate"] for row in rows(user)] == [10, 11, 12, 13]
    invalid = [row["verdict"] == "invalid" for row in rows(user)]
    assert invalid == [False, True, False, False], output + complained
    assert "worker-2: it is down" in rows(user)[1]["reasons"]
    assert process.returncode == 4, output + complained
    for mark in (first, second):
        left = snapshot(mark, (user.home / "data",))
        assert {kind: lines for kind, lines in left.items() if lines and kind not in ("system", "knobs")} == {}
