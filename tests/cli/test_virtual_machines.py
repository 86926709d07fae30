"""What stands in the way of virtual machines: exit code 3, and one message with the remedy each."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path

import pytest

from loadstone.infrastructure.machines import this_machine
from loadstone.infrastructure.namespaces import Namespaces, emulated, network
from loadstone.infrastructure.qemu import accelerator, guests, image
from loadstone.infrastructure.qemu.accelerator import Tried
from tests.cli.conftest import RunCommand

STUDY = """\
version: 1
name: guests
application: hotel-reservation
environment: vm
cluster: {infrastructure: qemu, emulated_ok: true}
resources: {}
load: {rates: [10], slo: {p99: 200ms}}
"""
LACKING = "E: Failed to fetch http://deb.example.org/InRelease  Could not resolve 'deb.example.org'"


@pytest.fixture(autouse=True)
def able(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has all that virtual machines need but KVM, as far as nothing is really made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(Namespaces, "preflight", lambda *_: [])
    monkeypatch.setattr(guests, "missing", lambda: [])
    monkeypatch.setattr(image, "missing", lambda: [])
    monkeypatch.setattr(accelerator, "remembered", lambda: Tried(boot="", why="/dev/kvm cannot be opened"))
    monkeypatch.setattr(network, "_LOCK", tmp_path / "emulated.lock")


def refused(say: RunCommand, study: str = STUDY) -> str:
    """What a run says that ends before anything is started."""
    Path("study.yaml").write_text(study)
    code, _, text = say("run", "study.yaml")
    assert code == 3, text
    assert not list(Path().glob("results/*/*/trials/*/trial.json")) and not list(Path("state").glob("*.json"))
    return " ".join(text.split())


def test_without_qemu(say: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "missing", lambda: ["qemu-system-x86"])
    text = refused(say)
    assert "qemu-system-x86 is not installed, which makes virtual machines" in text
    assert "sudo apt-get install -y qemu-system-x86" in text


def test_without_kvm(say: RunCommand) -> None:
    text = refused(say, STUDY.replace(", emulated_ok: true", ""))
    assert "virtual machines are emulated by software here, which shows whether something works, not how fast" in text
    assert "use a machine whose KVM works; with --emulated-ok this runs" in text


@pytest.mark.parametrize("free", [0, 2 * 2**30 + 2**27])
def test_without_free_memory(free: int, say: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, facts = type(this_machine()), this_machine().facts()
    monkeypatch.setattr(kind, "facts", lambda *_: facts.model_copy(update={"memory_available": free}))
    left = "0GiB" if not free else "128MiB"
    text = refused(say)
    assert f"virtual machines need 256MiB of memory, {left} is free for them" in text
    assert "set fewer cluster.workers or less vm.memory, or close programs" in text


def test_memory_that_no_machine_has(say: RunCommand) -> None:
    text = refused(say, STUDY + "vm: {memory: 4096GiB}\n")
    assert "virtual machines need 4096GiB of memory" in text


def test_an_image_that_cannot_be_made(say: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maker = tmp_path / "mmdebstrap"
    maker.write_text(f'#!/bin/sh\necho "I: running apt-get update..." >&2\necho "{LACKING}" >&2\nexit 100\n')
    maker.chmod(0o755)
    monkeypatch.setattr(image, "_PATH", f"{tmp_path}:{image._PATH}")
    monkeypatch.setattr(accelerator, "remembered", lambda: None)
    text = refused(say)
    assert f"the image of guests cannot be made: mmdebstrap: {' '.join(LACKING.split())}" in text
    assert "it needs mmdebstrap, e2fsprogs and the distribution's package servers" in text


def test_a_bridge_whose_addresses_are_all_taken(say: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated, "used_subnets", lambda: [IPv4Network(network.RESERVED)])
    text = refused(say)
    assert "no subnet for 1 host is free in 198.18.0.0/15" in text
    assert "`loadstone down` removes emulated hosts that were left" in text
