"""A study on hosts over SSH whose login is not root, but may become it by sudo: with a password, and without one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from loadstone.infrastructure.namespaces import checks
from loadstone.model.cluster import Link
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.infrastructure.preparation import sources
from tests.support.clusters import folders
from tests.support.users import User
from tests.support.verdicts import assert_answered
from tests.system.over_ssh import STUDY, recorded, write_shop

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.clusters]

LOGIN = "loadstone-tester"
ACCOUNT = f"""
apt-get -q update >/dev/null
DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends sudo >/dev/null
useradd --home-dir / --no-create-home --shell /bin/sh --password '*' {LOGIN}
echo '{LOGIN} ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers.d/{LOGIN}
chmod 440 /etc/sudoers.d/{LOGIN}
"""
"""An account in the host's own layer over ``/etc``. One without a password is locked, and sshd refuses it."""
WITH_PASSWORD = f"sed -i 's/NOPASSWD: //' /etc/sudoers.d/{LOGIN}"
OWN = "ls -A /var/lib/loadstone"
"""Shell line that prints what is there of us on a host."""


@pytest.fixture
def three(user: User, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    debs = sources.fetched(tmp_path_factory.mktemp("packages") / "debs", ["sudo"])
    with folders(), ssh_hosts(3, own_roots=True, more=sources.USE.format(folder=debs) + ACCOUNT) as made:
        logins = {
            host.name.replace("-", "_"): f"{{login: {LOGIN}@{host.address}, address: {host.address}}}"
            for host in made.hosts
        }
        write_shop(user)
        (user.home / "study.yaml").write_text(STUDY.replace("INVENTORY", str(made.inventory(**logins))))
        yield made
        user.runs("down")


def test_a_study_whose_login_becomes_root_by_sudo(user: User, three: SshHosts) -> None:
    command = ["ssh", "-F", str(three.config), f"{LOGIN}@{three.hosts[0].address}", "id", "-un"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == LOGIN
    user.runs("run", "study.yaml", "--set", "load.rates=[20]")
    assert_answered(*user.rows())
    (trial,) = user.home.glob("results/*/*/trials/*")
    names = {"worker-1", "worker-2", "worker-3"}
    audited = json.loads((trial / "audit.json").read_text())
    assert {each["node"] for each in audited} == names == recorded(trial)
    assert all(each["ok"] for each in audited), audited
    assert three.left([]) == []
    assert json.loads(user.runs("status", "--json").stdout)["deployments"] == []


def test_a_sudo_that_demands_a_password_is_one_message_and_exit_code_3(user: User, three: SshHosts) -> None:
    second = three.hosts[1]
    second.run(["sh", "-ec", WITH_PASSWORD]).check_returncode()
    before = second.run(["sh", "-c", OWN]).stdout
    done = user.runs("run", "study.yaml", expect=3)
    (complaint,) = [line for line in (done.stdout + done.stderr).splitlines() if "root is needed" in line]
    assert "worker-2: " in complaint or f"{LOGIN}@{second.address}: " in complaint, complaint
    assert "may not become it without a password: sudo: " in complaint and "NOPASSWD: ALL" in done.stdout + done.stderr
    assert user.trials() == {} and three.left([]) == []
    assert second.run(["sh", "-c", OWN]).stdout == before
