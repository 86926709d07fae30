"""Packages on hosts: their services are kept from starting while they are installed, and no longer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loadstone.infrastructure.hosts import packages
from loadstone.infrastructure.machines import Completed, Machine
from loadstone.infrastructure.software import load_software
from loadstone.model.errors import DeploymentError


class Host:
    """A machine without tools, on which the policy is a file of the test's and ``apt-get`` a script of its."""

    name = "worker-1"

    def __init__(self, folder: Path) -> None:
        self.policy = folder / "policy-rc.d"
        self._path = f"{folder}:{os.environ['PATH']}"
        for tool in ("systemctl", "dpkg", "apt-get"):
            self.has(tool, "true")

    def has(self, tool: str, script: str) -> None:
        file = self.policy.with_name(tool)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def facts(self, _tools: Sequence[str]) -> Any:
        return SimpleNamespace(tools={})

    def run(self, argv: Sequence[str], within_s: float = 60.0) -> Completed:
        command = [word.replace(packages.POLICY, str(self.policy)) for word in argv]
        env = {**os.environ, "PATH": self._path}
        done = subprocess.run(command, env=env, timeout=within_s, capture_output=True, text=True, check=False)
        return Completed(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def install(host: Host) -> None:
    packages.install(load_software("docker"), [cast(Machine, host)], lambda _: None)


def test_services_are_kept_from_starting_and_may_start_afterwards(host: Host) -> None:
    host.has("apt-get", f"{host.policy}; echo $? >{host.policy}.said")
    install(host)
    assert host.policy.with_name("policy-rc.d.said").read_text() == "101\n" and not host.policy.exists()


def test_services_may_start_again_after_an_installation_that_was_killed(host: Host) -> None:
    host.has("apt-get", "kill -9 $PPID")
    with pytest.raises(DeploymentError, match="cannot be installed"):
        install(host)
    assert host.policy.exists()
    packages.let_services_start(cast(Machine, host))
    assert not host.policy.exists()
    with pytest.raises(DeploymentError):
        install(host)
    host.has("apt-get", "true")
    install(host)  # it takes the one that was left for its own
    assert not host.policy.exists()


def test_another_s_policy_stays(host: Host) -> None:
    host.policy.write_text("#!/bin/sh\nexit 0\n")
    install(host)
    packages.let_services_start(cast(Machine, host))
    assert host.policy.read_text() == "#!/bin/sh\nexit 0\n"
