"""The hosts of a study, by an inventory or by names."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.infrastructure import inventories
from loadstone.model.cluster import Cluster

HOSTS = "hosts:\n  worker-1: {address: 10.0.0.1}\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("LOADSTONE_SSH_CONFIG", raising=False)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("ssh_config", "{here}/ssh_config"),
        ("~/lab/config", "/home/ada/lab/config"),
        ("/etc/lab", "/etc/lab"),
        ("none", "none"),
    ],
)
def test_the_configuration_of_ssh_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, path: str
) -> None:
    cluster = Cluster(infrastructure="hosts", inventory="hosts.yaml")
    Path("hosts.yaml").write_text(f"ssh: {{config: {given}}}\n{HOSTS}")
    assert inventories.read(cluster).ssh.config == path.format(here=tmp_path)
    Path("hosts.yaml").write_text(HOSTS)
    assert inventories.read(cluster).ssh.config is None
    monkeypatch.setenv("LOADSTONE_SSH_CONFIG", given)
    assert inventories.read(cluster).ssh.config == path.format(here=tmp_path)
