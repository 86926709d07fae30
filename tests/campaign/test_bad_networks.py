"""A network between desk and hosts that is slow, or loses packets: nothing hangs, and the trials are whole."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure.namespaces import checks
from loadstone.model.cluster import Link
from tests.campaign import studies
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.support.users import User

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.clusters, pytest.mark.long, pytest.mark.timeout(1800)]

RATES = [20, 30]
LATE_S = 0.2
LOST = 0.3
WITHIN_S = 600
RELAY = Path(__file__).with_name("relay.py")


@pytest.fixture
def hosts(user: User) -> Iterator[SshHosts]:
    """Two hosts over SSH and the study on them; nothing is left on them."""
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    with ssh_hosts(2) as made:
        cluster = {"infrastructure": "hosts", "inventory": str(made.inventory()), "workers": 2}
        studies.write(user, RATES, orchestrator="process", cluster=cluster)
        yield made
        user.runs("down")
        assert made.left([]) == []


def whole(user: User, what: str) -> None:
    """Run the study to its end; every trial of it says something."""
    began = time.monotonic()
    done = user.runs("run", "study.yaml")
    elapsed = time.monotonic() - began
    assert [verdict for verdict, _ in studies.verdicts(user)] == ["held"] * len(RATES), done.stdout + done.stderr
    print(f"bad network: {what}: {len(RATES)} of {len(RATES)} trials whole, in {elapsed:.0f} s")


def test_every_byte_is_late(user: User, hosts: SshHosts) -> None:
    relay = f"Host *\n  ProxyCommand {sys.executable} {RELAY} {LATE_S / 2} %h %p\n"
    hosts.config.write_text(hosts.config.read_text() + relay)
    whole(user, f"{LATE_S * 1000:.0f} ms there and back")


def test_packets_are_lost(user: User, hosts: SshHosts) -> None:
    """TCP hardly gets on: a run may end, in time and with the host named, and the next is whole on a better network."""
    lost = ["-p", "tcp", "--dport", "22", "-m", "statistic", "--mode", "random", "--probability"]
    for host in hosts.hosts:
        host.run(["iptables", "-A", "INPUT", *lost, str(LOST), "-j", "DROP"]).check_returncode()
    began, process = time.monotonic(), studies.start(user)
    code = process.wait(WITHIN_S)
    elapsed, printed = time.monotonic() - began, (user.home / "log").read_text()
    print(f"bad network: {LOST:.0%} of packets lost: exit {code} in {elapsed:.0f} s; {printed.splitlines()[-1]}")
    assert code in (0, 3, 4) and "Traceback" not in printed, printed
    assert code == 0 or ("worker-" in printed and re.search("network|connection|reach|answer", printed)), printed
    for host in hosts.hosts:
        host.run(["iptables", "-F", "INPUT"]).check_returncode()
    user.runs("down")
    whole(user, "after the loss")
