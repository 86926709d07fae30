"""What is left on hosts over SSH of Nomad that Loadstone started there, after a kill or the loss of a host."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from loadstone.infrastructure.namespaces import checks
from loadstone.model.cluster import Link
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.support import applications
from tests.support.users import User, end, wait

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.nomad, pytest.mark.timeout(1800)]

STUDY = """\
version: 1
name: nomad-over-ssh
application: application.yaml
orchestrator: nomad
cluster: {infrastructure: hosts, inventory: INVENTORY}
resources: RESOURCES
load: {rates: [15], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 4s}
"""


@pytest.fixture
def three(user: User) -> Iterator[SshHosts]:
    """A manager and two workers, and the study on them; afterwards they are as before."""
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    application = applications.shop()
    (user.home / "application.yaml").write_text(yaml.safe_dump(application))
    with ssh_hosts() as made:
        manager = f"{{address: {made.hosts[0].address}, roles: [manager]}}"
        text = STUDY.replace("INVENTORY", str(made.inventory(worker_1=manager)))
        limits = json.dumps(applications.limits(application, cpu=0.08))
        (user.home / "study.yaml").write_text(text.replace("RESOURCES", limits))
        before = {host.name: made.traces(host.name) for host in made.hosts}
        yield made
        user.runs("down")
        assert made.left([]) == []
        assert made.differences(before) == {}


def test_nothing_is_left_on_any_host_after_the_desk_was_killed(user: User, three: SshHosts) -> None:
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    groups = three.groups()
    assert len(groups) == 3 and len(three.left(groups)) > 3
    _, printed = end(process, signal.SIGKILL)
    (file,) = user.home.glob("state/*/desk/nomad.env")
    tokens = [line.partition("=")[2] for line in file.read_text().splitlines() if "_TOKEN=" in line]
    assert len(tokens) == 2 and file.stat().st_mode & 0o077 == 0
    results = [path.read_bytes().decode(errors="replace") for path in user.home.glob("results/**/*") if path.is_file()]
    assert [token for token in tokens for text in (printed, *results) if token in text] == []
    assert "nomad" in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    user.runs("down")
    assert three.left(groups) == []
    running = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    ours = ("sshd", f"stone node --state {three.folder}")  # the hosts' own, and this test's way to them
    left = [line for line in running.splitlines() if str(three.folder) in line]
    assert [line for line in left if not any(part in line for part in ours)] == []


@pytest.mark.long
def test_a_host_that_vanishes_makes_its_trial_invalid(user: User, three: SshHosts) -> None:
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    groups = three.groups()
    three.cut("worker-3")
    try:
        wait(lambda: sum(user.trials().values()) == 1 or process.poll() is not None)
    finally:
        three.cut("worker-3", "up")
    printed = "".join(process.communicate(timeout=600))
    assert process.returncode == 4 and "Traceback" not in printed, printed
    (trial,) = user.home.glob("results/*/*/trials/*/trial.json")
    verdict = json.loads(trial.read_text())["verdict"]
    assert verdict["verdict"] == "invalid" and "worker-3" in str(verdict["reasons"]), verdict
    user.runs("down")
    assert three.left(groups) == []
