"""A study on hosts over SSH: what it records, and what it does when one of them vanishes and comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from loadstone.infrastructure.namespaces import checks
from loadstone.model.cluster import Link
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.support.users import User, wait

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.clusters]

STUDY = """\
version: 1
name: over-ssh
application: hotel-reservation
cluster: {infrastructure: hosts, inventory: INVENTORY, workers: 3}
factors: {orchestrator: [process]}
load: {rates: [10, 15, 20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 5s, order: sequential}
metrics: {}
"""


@pytest.fixture
def three(user: User) -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [one for one in checks.machine(Link()) if one.level == "error"]:
        pytest.skip("; ".join(one.message for one in lacking))
    with ssh_hosts() as made:
        (user.home / "study.yaml").write_text(STUDY.replace("INVENTORY", str(made.inventory())))
        yield made
        user.runs("down")
        assert made.left([]) == []


def verdicts(user: User) -> list[tuple[str, list[str]]]:
    """Each trial's verdict and reasons, in the order of their rates."""
    records = [json.loads(file.read_text()) for file in user.home.glob("results/*/*/trials/*/trial.json")]
    records.sort(key=lambda record: record["trial"]["rate"])
    return [(record["verdict"]["verdict"], record["verdict"]["reasons"]) for record in records]


def test_a_host_that_vanishes_costs_a_trial_and_not_the_study(user: User, three: SshHosts) -> None:
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=1)
    three.cut("worker-3")
    try:
        wait(lambda: sum(user.trials().values()) >= 2 or process.poll() is not None, 600)
    finally:
        three.cut("worker-3", "up")
    printed = "".join(process.communicate(timeout=600))
    assert process.returncode == 4 and "Traceback" not in printed, printed
    (first, _), (second, reasons), (third, _) = verdicts(user)
    assert (second, [reason.partition(": ")[0] for reason in reasons]) == ("invalid", ["worker-3"]), printed
    assert "invalid" not in (first, third), printed
    assert "counters of hosts elsewhere are not recorded: worker-1, worker-2, worker-3" in printed
    assert json.loads(user.runs("status", "--json").stdout)["deployments"] == [], "what was lost was removed later"
