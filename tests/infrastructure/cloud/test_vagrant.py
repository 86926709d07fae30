"""Machines of Vagrant: the file by Ruby and Vagrant where they are installed, the life of machines by a stand-in."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loadstone.infrastructure.cloud.vagrant import Vagrant, vagrantfile
from loadstone.infrastructure.cloud.vagrant.service import VagrantMachines
from loadstone.infrastructure.machine_files import MachineNeeds
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError, PreflightError
from loadstone.model.instances import Instances

STAND_IN = """#!/bin/sh
# Stands in for vagrant: its machines are the files where the real one keeps their ids.
echo "$*" >>calls
names=$(sed -nE 's/^  "([a-z]+-[0-9]+)" +=>.*/\\1/p' Vagrantfile)
case $1 in
up)
  [ -z "$REFUSED" ] || { echo "The provider is refused with $MY_TOKEN" >&2; exit 1; }
  for name in $names; do mkdir -p .vagrant/machines/$name/libvirt; echo id >.vagrant/machines/$name/libvirt/id; done ;;
ssh-config)
  for name in $names; do
    printf 'Host %s\\n  HostName 192.168.121.7\\n  User vagrant\\n  Port 2222\\n' $name
    printf '  IdentityFile "/home/a b/key"\\n\\n'
  done ;;
destroy) rm -rf .vagrant ;;
esac
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a deployment, and a program `vagrant` that makes nothing."""
    program = tmp_path / "bin" / "vagrant"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    folder = tmp_path / "deployment"
    folder.mkdir()
    return folder


def made(provider: VagrantMachines, *names: str) -> list[str]:
    found = provider.make(names, "key", datetime.now(UTC), lambda _text: None)
    return [f"{each.name} {each.address} {each.outside}:{each.port} {each.login} {each.key}" for each in found]


def rendered(site: str = "libvirt", image: str | None = None) -> dict[str, str]:
    instances = Instances(site=site, image=image, cpus=4, memory=8 * 2**30)
    return vagrantfile.render(MachineNeeds("study", Cluster(instances=instances), ("nomad",), managers=1, workers=2))


@pytest.mark.parametrize("site", vagrantfile.PROVIDERS)
def test_the_file_is_ruby(site: str) -> None:
    ruby = shutil.which("ruby")
    if ruby is None:
        pytest.skip("needs ruby")
    text = rendered(site, image='with "quotes" and #{code}')["Vagrantfile"]
    checked = subprocess.run([ruby, "-wc"], input=text, text=True, capture_output=True, check=False)
    assert checked.returncode == 0 and checked.stderr == "", checked.stderr
    shown = text[text.index("  config.vm.box = ") :].splitlines()[0].partition(" = ")[2]
    printed = subprocess.run([ruby, "-e", f"print {shown}"], text=True, capture_output=True, check=True)
    assert printed.stdout == 'with "quotes" and #{code}', "text is not run as code"


@pytest.mark.servers
def test_the_file_is_valid_to_vagrant(tmp_path: Path) -> None:
    vagrant = shutil.which("vagrant")
    if vagrant is None:
        pytest.skip("needs vagrant")
    for name, text in rendered().items():
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "VAGRANT_HOME": str(tmp_path / "home"), "VAGRANT_CHECKPOINT_DISABLE": "1"}
    command = [vagrant, "validate", "--ignore-provider"]
    checked = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_inventory_has_the_files_addresses() -> None:
    files = rendered()
    assert files["hosts.yaml"].splitlines()[2:] == [
        "  manager-1: {address: 192.168.56.10, roles: [manager]}",
        "  worker-1: {address: 192.168.56.11, roles: [worker]}",
        "  worker-2: {address: 192.168.56.12, roles: [worker]}",
        "  client-1: {address: 192.168.56.13, roles: [client]}",
    ]
    for line in ('"manager-1" => "192.168.56.10"', "machine.cpus = 4", "machine.memory = 8192"):
        assert line in files["Vagrantfile"]


def test_machines_are_made_found_and_destroyed(stand_in: Path) -> None:
    provider = VagrantMachines(Instances(), "loadstone-a", stand_in)
    assert made(provider, "client-1", "worker-1") == [
        "client-1 192.168.56.10 192.168.121.7:2222 vagrant /home/a b/key",
        "worker-1 192.168.56.11 192.168.121.7:2222 vagrant /home/a b/key",
    ]
    assert 'machine.default_prefix = "loadstone-a-"' in (stand_in / "Vagrantfile").read_text()
    assert (stand_in / ".vagrant/machines/worker-1/libvirt/id").exists()
    provider.remove()
    assert not (stand_in / ".vagrant").exists()
    assert (stand_in / "calls").read_text().split("\n")[:3] == [
        "up --provider=libvirt",
        "ssh-config",
        "destroy --force",
    ]


def test_what_fails_is_shown_without_secrets(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSED", "yes")
    monkeypatch.setenv("MY_TOKEN", "s3cret-s3cret")
    with pytest.raises(DeploymentError, match=r"`vagrant up --provider=libvirt` failed: .* refused with \*\*\*"):
        made(VagrantMachines(Instances(), "loadstone-a", stand_in), "worker-1")


def test_without_vagrant_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = Vagrant(Cluster(infrastructure="vagrant"), "study-cluster").preflight("process", 0)
    assert (found.level, found.message) == ("error", "vagrant is not installed") and "install" in found.remedy
    with pytest.raises(PreflightError):
        VagrantMachines(Instances(), "loadstone-a", tmp_path).where()


def test_a_provider_that_is_not_there_is_refused() -> None:
    cluster = Cluster(infrastructure="vagrant", instances=Instances(site="virtualbx"))
    ((path, message),) = Vagrant.objections(cluster)
    assert path == ("instances", "site") and "did you mean 'virtualbox'" in message
