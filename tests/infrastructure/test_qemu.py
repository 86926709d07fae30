"""Virtual machines as they would be: their nodes, what is missing to make them, and what is known of KVM."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loadstone.infrastructure import qemu
from loadstone.infrastructure.machines import MachineLost, this_machine
from loadstone.infrastructure.namespaces import Namespaces, members_of
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.qemu import accelerator, guests, image
from loadstone.infrastructure.qemu.accelerator import Tried
from loadstone.infrastructure.qemu.guests import Guests
from loadstone.infrastructure.qemu.image import Image
from loadstone.infrastructure.software.base import Member
from loadstone.infrastructure.software.process import Process
from loadstone.model.cluster import Cluster
from loadstone.model.guest import Vm

CLUSTER = Cluster(infrastructure="qemu", workers=2)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_guest_stands_for_each_host_with_its_cores_and_address() -> None:
    infrastructure = qemu.Qemu(CLUSTER, "c")
    client, *hosts = infrastructure.sketch("process", 0)
    there, *made = infrastructure.in_guests(Vm()).sketch("process", 0)
    assert there.model_copy(update={"memory": client.memory}) == client  # what is free now changes by the moment
    assert [(node.name, node.address, len(node.cpus)) for node in made] == [
        (host.name, host.address, len(host.cpus)) for host in hosts
    ]
    assert all(node.guest is not None and node.guest.host_cpus == hosts[0].cpus for node in made)
    assert all(node.guest.nested is this_machine().facts().hypervisor.present for node in made if node.guest)
    assert 2 * made[0].memory < this_machine().facts().memory_available


def test_what_a_study_sets_is_what_is_requested_of_qemu() -> None:
    vm = Vm(cpus=1, memory=2**30, pin=True)
    (_, guest, _) = qemu.Qemu(CLUSTER, "c").in_guests(vm).sketch("process", 0)
    assert guest.guest is not None and (guest.cpus, guest.memory) == ((0,), 2**30)
    assert guest.guest.pinned == guest.guest.host_cpus[:1]
    assert str(vm) == "cpus:1,memory:1GiB,pin:True"


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ({}, ["-cpu max", "-machine q35,accel=tcg", "virtio-net-pci,netdev", "if=virtio,format=raw,cache=none"]),
        ({"disk": "qcow2"}, ["if=virtio,format=qcow2,cache=none"]),
        ({"cache": "writeback"}, ["if=virtio,format=raw,cache=writeback"]),
        ({"net": "e1000"}, ["-device e1000,netdev=net0"]),
        ({"cpu_model": "Nehalem"}, ["-cpu Nehalem"]),
        ({"machine": "pc"}, ["-machine pc,accel=tcg"]),
        ({"cpus": 3}, ["-smp 3"]),
        ({"memory": 2**30}, ["-m 1024M"]),
    ],
)
def test_each_setting_reaches_the_command_line_of_qemu(
    given: dict[str, Any], there: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerator.os, "access", lambda *_: False)
    infrastructure = qemu.Qemu(CLUSTER, "c").in_guests(Vm(**given))
    emulated = EmulatedHosts("c0ffee", "198.18.0.0/24", "", ())
    node = infrastructure._as_guests(Namespaces(CLUSTER, "c").sketch("process", 0), emulated)[1]
    assert infrastructure._guests is not None and node.guest is not None
    made = Image(tmp_path / "disk.raw", tmp_path / "vmlinuz", tmp_path / "initrd")
    line = " ".join(infrastructure._guests._command(node, node.guest, tmp_path, made))
    assert [part for part in there if part not in line] == [], line


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs openssh-client")
def test_keys_of_guests_are_for_their_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    emulated = EmulatedHosts("c0ffee", "198.18.0.0/24", str(tmp_path), ("worker-1",))
    nodes = tuple(Namespaces(Cluster(infrastructure="qemu"), "c").sketch("process", 0)[1:])
    made = Guests(emulated, Vm(), "tcg", False, nodes)
    monkeypatch.setattr(guests, "run", lambda *_: "")
    monkeypatch.setattr(guests, "this_machine", lambda _: SimpleNamespace(spawn=lambda _: None))
    made._make_keys()
    made._start(made.made[0], Image(tmp_path / "disk.raw", tmp_path / "vmlinuz", tmp_path / "initrd"))

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    secret = [path for path in files if b"PRIVATE KEY" in path.read_bytes()]
    assert sorted(path.name for path in secret) == ["host", "login", "seed.tar"]
    assert [path for path in secret if not any(each.stat().st_mode & 0o077 == 0 for each in (path, path.parent))] == []


def test_programs_that_are_missing_are_named_before_anything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Namespaces, "preflight", lambda *_: [])
    monkeypatch.setattr(guests, "missing", lambda: ["qemu-system-x86"])
    monkeypatch.setattr(image, "missing", lambda: [])
    monkeypatch.setattr(image, "image", lambda _: pytest.fail("the image is made"))
    (found,) = qemu.Qemu(CLUSTER, "c").in_guests(Vm()).preflight("process", 0)
    assert (found.level, found.remedy) == ("error", "sudo apt-get install -y qemu-system-x86")


def test_a_guest_that_hangs_is_a_problem_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(Process):
        def trouble(self, member: Member) -> str:
            raise MachineLost(f"{member.name}: it cannot be reached: timed out", "check that it is up")

    (_, *nodes) = (infrastructure := qemu.Qemu(CLUSTER, "c").in_guests(Vm())).sketch("process", 0)
    there = {"_emulated": object(), "_software": Hanging(), "_members": members_of(nodes)}
    for name, value in there.items():
        monkeypatch.setattr(infrastructure, name, value)
    monkeypatch.setattr(infrastructure, "_up", lambda _: {"worker-2"})
    assert infrastructure.problems() == ["worker-1: it is down", "worker-2: it cannot be reached: timed out"]


def test_kvm_is_tried_once_a_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator.os, "access", lambda *_: True)
    assert accelerator.remembered() is None
    image.folder().mkdir(parents=True)
    tried = Tried(boot=this_machine().boot, why="KVM does not boot a kernel: it panics")
    (image.folder() / "kvm.json").write_text(tried.model_dump_json())
    assert accelerator.remembered() == tried and accelerator.find(print) == tried
    assert tried.accelerator == "tcg"
    (image.folder() / "kvm.json").write_text(json.dumps({"boot": "an earlier one", "why": ""}))
    assert accelerator.remembered() is None


def test_a_machine_without_the_device_has_no_kvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator.os, "access", lambda *_: False)
    known = accelerator.remembered()
    assert known is not None and known.why == "/dev/kvm cannot be opened"


def test_the_image_is_another_where_its_content_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image._place()
    monkeypatch.setattr(image, "INIT", "another")
    assert image._place() != before
