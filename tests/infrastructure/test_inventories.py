"""The hosts of a study, by an inventory or by names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from loadstone.infrastructure import inventories
from loadstone.infrastructure.machines import connect
from loadstone.model.cluster import Cluster, Reach
from loadstone.model.errors import InputError, PreflightError

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


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs openssh-client")
def test_a_configuration_that_ssh_refuses_is_reported_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("config").write_text("Host node-1\n  Portt 12\n")
    monkeypatch.setenv("LOADSTONE_SSH_CONFIG", "config")
    with pytest.raises(PreflightError, match=r"^node-1: .*config: line 2: Bad configuration option: portt\n"):
        inventories.read(Cluster(infrastructure="hosts", hosts=["node-1"]))


def test_a_machine_without_ssh_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    missing = pytest.raises(PreflightError, match="ssh is not installed on this machine\n  sudo apt-get install")
    with missing:
        inventories.read(Cluster(infrastructure="hosts", hosts=["node-1"]))
    with missing:
        connect("node-1", Reach(transport="ssh", options={"host": "node-1"})).facts()


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs openssh-client")
def test_two_names_of_one_machine_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("config").write_text("Host node-1 node-2\n  HostName 127.0.0.1\n")
    monkeypatch.setenv("LOADSTONE_SSH_CONFIG", "config")
    with pytest.raises(InputError, match=r"cluster\.hosts: node-2: 127\.0\.0\.1 is the address of node-1"):
        inventories.read(Cluster(infrastructure="hosts", hosts=["node-1", "node-2"]))
