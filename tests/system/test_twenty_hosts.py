"""Twenty hosts over SSH are prepared side by side, with real packages, and their hardware is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from loadstone.experiments import hardware
from loadstone.infrastructure.hosts import Hosts
from loadstone.infrastructure.machines import close_all
from loadstone.infrastructure.namespaces import checks
from loadstone.infrastructure.preparation.playing import HostOutcome, play
from loadstone.model.cluster import Cluster, Link
from loadstone.model.document import Document
from loadstone.model.inventory import Inventory
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.infrastructure.preparation import sources

pytestmark = [pytest.mark.root, pytest.mark.clusters, pytest.mark.long, pytest.mark.timeout(3600)]

COUNT = 20
SETTINGS: dict[str, Any] = {"prepare_for": ["process"], "clock_bound_us": 100_000}


class InFlight:
    """How many hosts are at work at once. Of each task on a host the first event is its begin, the next its end."""

    def __init__(self) -> None:
        self.most = 0
        self._begun: set[tuple[str, str]] = set()
        self._open: set[tuple[str, str]] = set()

    def __call__(self, host: str, task: str, _changed: bool) -> None:
        if (host, task) in self._begun:
            self._open.discard((host, task))
        else:
            self._begun.add((host, task))
            self._open.add((host, task))
            self.most = max(self.most, len(self._open))


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    packages = sources.fetched(tmp_path_factory.mktemp("packages") / "debs", ["chrony", "systemd-timesyncd"])
    with ssh_hosts(COUNT, own_roots=True, more=sources.USE.format(folder=packages) + sources.WITHOUT_CHRONY) as made:
        yield made
        close_all()


def played(made: SshHosts, playbook: str, check: bool, progress: InFlight) -> dict[str, HostOutcome]:
    inventory = Document.read(made.inventory()).parse(Inventory)
    outcomes = play(playbook, inventory, SETTINGS, check, progress)
    assert {name: outcome.trouble for name, outcome in outcomes.items()} == dict.fromkeys(inventory.hosts)
    assert len(outcomes) == COUNT
    return outcomes


def test_twenty_hosts_are_prepared_side_by_side_and_once(twenty: SshHosts) -> None:
    at_once = InFlight()
    try:
        changed = played(twenty, "prepare", False, at_once)
        tasks = {tuple(change.task for change in outcome.changes) for outcome in changed.values()}
        assert len(tasks) == 1 and "packages" in tasks.pop(), "the same on all"
        assert all(outcome.clock["offset_us"] <= SETTINGS["clock_bound_us"] for outcome in changed.values())
        assert at_once.most > COUNT // 2
        again = played(twenty, "prepare", True, at_once)
        assert {name: outcome.changes for name, outcome in again.items() if outcome.changes} == {}
    finally:
        played(twenty, "undo", False, at_once)


def test_twenty_hosts_are_nodes_whose_hardware_is_known(twenty: SshHosts) -> None:
    provider = Hosts(Cluster(infrastructure="hosts", inventory=str(twenty.inventory())), "twenty")
    _, *workers = provider.sketch("process", 0)
    found = hardware.of_hosts(workers)
    assert set(found) == {f"worker-{number + 1}" for number in range(COUNT)}
    assert {machine["kernel"] for machine in found.values()} == {found["worker-1"]["kernel"]}
    assert hardware.differences(workers, found) == []
    found["worker-7"] |= {"microcode": "0xbad"}
    (warning,) = hardware.differences(workers, found)
    assert warning.message.endswith("0xbad: worker-7")
