"""How Ansible is started; it is not."""

from __future__ import annotations

from typing import Any

import ansible_runner
import pytest

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
