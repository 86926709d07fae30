"""How Ansible is started, and what it is given."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

from loadstone.infrastructure.preparation.hosts import ansible_inventory
from loadstone.infrastructure.preparation.playing import play
from loadstone.model.inventory import Inventory


class Ended:
    status = "successful"
    rc = 0


def test_no_run_uses_the_connections_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under another configuration of ssh the same name may be another machine."""
    paths: list[str] = []

    def run(envvars: dict[str, str], **_: Any) -> Ended:
        folder = envvars["ANSIBLE_SSH_CONTROL_PATH_DIR"]
        paths.append(envvars["ANSIBLE_SSH_CONTROL_PATH"] % {"directory": folder})
        return Ended()

    monkeypatch.setattr(ansible_runner, "run", run)
    inventory = Inventory.model_validate({"version": 1, "hosts": {"a": {"address": "192.0.2.1", "roles": ["worker"]}}})
    for _ in range(2):
        play("prepare", inventory, {}, check=True, progress=lambda *_: None)
    assert paths[0] != paths[1]
    # ssh writes 40 digits for %C, and adds 17 characters while it makes the socket, whose path has at most 108 bytes.
    assert all(path.endswith("-%C") and len(path) - 2 + 40 + 17 <= 107 for path in paths), paths


def test_no_text_of_an_inventory_is_run_or_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login, config, written = tmp_path / "ssh", f"{tmp_path}/my config", tmp_path / "arguments"
    login.write_text(
        '#!/bin/sh\ncase "$*" in *-G*) echo user root; echo port 22; exit 0 ;; esac\n'
        f"printf '%s\\n' \"$@\" >>'{written}'\nexit 255\n"
    )
    login.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    host = {"address": "192.0.2.1", "login": f"{{{{ lookup('pipe', 'touch {tmp_path}/ran') }}}}"}
    inventory = Inventory.model_validate({"ssh": {"config": config}, "hosts": {"a": host}})
    outcomes = play("prepare", inventory, {}, check=True, progress=lambda *_: None)
    assert outcomes["a"].trouble is not None
    assert not (tmp_path / "ran").exists()
    sent = written.read_text()
    assert "ControlMaster=auto\n" in sent, "Ansible has not called it"
    assert sent.count("-F\n") == sent.count(f"-F\n{config}\n")


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs openssh-client")
def test_a_login_s_port_and_user_are_those_of_ssh(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host node-1\n  Port 2022\n  User ada\n")
    hosts = {"node-1": {"address": "10.0.0.1"}, "b": {"login": "ssh://bob@node-2.lab:2200", "address": "10.0.0.2"}}
    inventory = Inventory.model_validate({"ssh": {"config": str(config)}, "hosts": hosts})
    found = ansible_inventory(inventory)["all"]["hosts"]
    keys = ("ansible_user", "ansible_host", "ansible_port")
    given = {name: tuple(host[key]["__ansible_unsafe"] for key in keys) for name, host in found.items()}
    assert given == {"node-1": ("ada", "node-1", "2022"), "b": ("bob", "node-2.lab", "2200")}
