"""The hardware of a virtual machine is read back: each row of the audit, broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadstone.infrastructure.qemu.monitor import GuestHardware
from loadstone.model.guest import Guest
from loadstone.model.records.node.replicas import InForce
from loadstone.orchestration import hardware
from loadstone.orchestration.environment import environment_of
from loadstone.orchestration.hardware import guest_rows, hardware_rows
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes
from tests.support.standings import facts, in_container, of_process

GIB = 2**30
GUEST = Guest(monitor="/nowhere", accelerator="kvm", cpus=2, memory=8 * GIB, host_cpus=(2, 3))
PINNED = GUEST.model_copy(update={"pinned": (2, 3)})
FREE = GuestHardware("kvm", 8 * GIB, ((2, 3), (2, 3)))
SEEN = facts(guest=True, boot="another")
HOST = InForce(cpu=None, memory=None, cores=(2, 3))
REPLICA = deployed(parse(SERVICES), two_nodes()).of("geo")[0]


def rows(guest: Guest, state: GuestHardware, host: InForce = HOST, **seen: Any) -> dict[str, tuple[str, str]]:
    found = hardware_rows(REPLICA, "worker-1", guest, SEEN.model_copy(update=seen), state, host)
    assert all(row.ok == (row.wanted == row.effective) for row in found)
    return {row.what: (row.wanted, row.effective) for row in found}


def test_a_guest_as_it_was_requested() -> None:
    assert rows(GUEST, FREE) == {
        "accelerator": ("kvm", "kvm"),
        "vcpus": ("2", "2"),
        "vm memory": ("8GiB", "8GiB"),
        "vm pinning": ("none", "none"),
    }
    pinned = GuestHardware("kvm", 8 * GIB, ((2,), (3,)))
    assert rows(PINNED, pinned)["vm pinning"] == ("2, 3", "2, 3")


@pytest.mark.parametrize(
    ("what", "guest", "state", "seen", "effective"),
    [
        ("accelerator", GUEST, GuestHardware("tcg", 8 * GIB, ((2, 3), (2, 3))), {}, "tcg"),
        ("vcpus", GUEST, GuestHardware("kvm", 8 * GIB, ((2, 3),)), {"cpus": (0,)}, "1"),
        ("vcpus", GUEST, FREE, {"cpus": (0,)}, "2 of QEMU, of which the guest has 1"),
        ("vm memory", GUEST, GuestHardware("kvm", 4 * GIB, ((2, 3), (2, 3))), {"memory": 4 * GIB}, "4GiB"),
        ("vm memory", GUEST, FREE, {"memory": 2 * GIB}, "8GiB of QEMU, of which the guest has 2GiB"),
        ("vm pinning", PINNED, FREE, {}, "2-3, 2-3"),
        ("vm pinning", GUEST, GuestHardware("kvm", 8 * GIB, ((2,), (3,))), {}, "2, 3"),
        ("vm pinning", GUEST, GuestHardware("kvm", 8 * GIB, ((0, 1, 2, 3), (2, 3))), {}, "0-3, 2-3"),
    ],
)
def test_each_difference_is_found(
    what: str, guest: Guest, state: GuestHardware, seen: dict[str, Any], effective: str
) -> None:
    wanted, found = rows(guest, state, **seen)[what]
    assert found == effective != wanted


@pytest.mark.parametrize(
    ("what", "limit", "effective"),
    [
        ("vcpus", {"cpu": 1.5}, "2 in a control group that is held to 1.5"),
        ("vcpus", {"cpu": 2.0}, "2"),
        ("vm memory", {"memory": 4 * GIB}, "8GiB in a control group that is held to 4GiB"),
        ("vm memory", {"memory": 9 * GIB}, "8GiB"),
    ],
)
def test_the_control_group_of_qemu_may_not_be_tighter(what: str, limit: dict[str, float], effective: str) -> None:
    wanted, found = rows(GUEST, FREE, HOST.model_copy(update=limit))[what]
    assert found == effective and (found == wanted) is (effective in ("2", "8GiB"))


def test_the_limits_of_qemu_are_read_where_its_control_group_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read is a mismatch; nothing is taken for granted."""
    monkeypatch.setattr(hardware.monitor, "state", lambda _: FREE)
    nowhere = GUEST.model_copy(update={"group": "loadstone/there/is/none"})
    [kernel, limits] = guest_rows(REPLICA, "worker-1", nowhere, SEEN, "b007")
    assert kernel.ok and (limits.what, limits.wanted) == ("limits of QEMU", "in force")
    assert not limits.ok and limits.effective


def test_the_kernel_of_a_guest_is_its_own_and_a_qemu_that_is_gone_is_a_mismatch(tmp_path: Path) -> None:
    gone = GUEST.model_copy(update={"monitor": str(tmp_path / "qmp.sock")})
    for boot, effective in (("b007", "a guest's"), ("another", "this machine's")):
        kernel, accelerator = guest_rows(REPLICA, "worker-1", gone, SEEN, boot)
        assert (kernel.what, kernel.wanted, kernel.effective) == ("kernel", "a guest's", effective)
        assert not accelerator.ok and accelerator.effective.startswith(f"QEMU does not answer at {gone.monitor}: ")


def test_what_runs_in_a_guest_of_ours_is_not_called_given() -> None:
    emulated = GUEST.model_copy(update={"accelerator": "tcg"})
    assert environment_of(SEEN, of_process(), GUEST) == "vm"
    assert environment_of(SEEN, of_process(), emulated) == "vm (emulated)"
    assert environment_of(SEEN, in_container(), GUEST) == "vm-container"
    assert environment_of(SEEN, in_container(), emulated) == "vm-container (emulated)"
    assert environment_of(facts(), of_process(), GUEST) == "bare"
