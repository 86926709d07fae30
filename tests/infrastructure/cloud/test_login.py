"""The configuration of ssh by which made machines are reached."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from loadstone.infrastructure.cloud import login
from loadstone.infrastructure.cloud.service import Made

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="needs openssh-client")


def settings(folder: Path, name: str) -> dict[str, str]:
    """What ssh makes of the file alone, as the command that jumps does."""
    command = ["ssh", "-F", str(folder / "ssh_config"), "-G", name]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {key: value for key, _, value in (line.partition(" ") for line in shown.splitlines())}


def test_the_ssh_that_jumps_gives_up_on_a_host_that_vanishes_while_it_connects(tmp_path: Path) -> None:
    machines = [Made("worker-1", "10.0.0.1", outside="192.0.2.1"), Made("worker-2", "10.0.0.2")]
    login.write(tmp_path, machines, "cc", "Ada")

    jump = settings(tmp_path, "worker-2")["proxycommand"]
    assert jump == f"ssh -F {tmp_path}/ssh_config -W %h:%p worker-1"
    of_jump = settings(tmp_path, "worker-1")
    waits = {key: int(of_jump[key]) for key in ("connecttimeout", "serveraliveinterval", "serveralivecountmax")}
    assert waits == {"connecttimeout": 15, "serveraliveinterval": 5, "serveralivecountmax": 4}


@pytest.mark.parametrize("name", ["a b", "50%", "Ada's $HOME; `id`", 'say "ü"', "back\\slash"])
def test_the_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    login.write(folder, [Made("worker-1", "10.0.0.1", outside="192.0.2.1"), Made("worker-2", "10.0.0.2")], "cc", "Ada")
    found = settings(folder, "worker-2")
    escaped = {key: found[key].replace("%%", "%") for key in ("identityfile", "userknownhostsfile")}
    assert escaped == {"identityfile": f"{folder}/id_ed25519", "userknownhostsfile": f"{folder}/known_hosts"}
    jump = found["proxycommand"].replace("%%", "%")
    assert shlex.split(jump) == ["ssh", "-F", f"{folder}/ssh_config", "-W", "%h:%p", "worker-1"]
