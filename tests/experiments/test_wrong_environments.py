"""Each way in which an environment is another than the study says: one sentence with replica, effective and wanted."""

from __future__ import annotations

from functools import partial

import pytest

from loadstone.experiments.trial_runner import mismatches
from loadstone.infrastructure.qemu.monitor import GuestHardware
from loadstone.model.cluster import Node
from loadstone.model.guest import Guest
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.node.replicas import InForce, Mounted
from loadstone.orchestration.environment import environment_rows
from loadstone.orchestration.hardware import hardware_rows
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes
from tests.support.standings import facts, in_container, of_process

GIB = 2**30
REPLICA = deployed(parse(SERVICES), two_nodes()).of("geo")[0]
NODE = Node(name="worker-1", role="worker", address="127.0.0.1", cpus=(2, 3), memory=8 * GIB)
GUEST = Guest(monitor="", accelerator="kvm", cpus=2, memory=4 * GIB, pinned=(2, 3), host_cpus=(2, 3))
PINNED = ((2,), (3,))

in_guest = partial(hardware_rows, REPLICA, "worker-1", GUEST, host=InForce(cpu=None, memory=None, cores=(2, 3)))
SEEN = facts(guest=True).model_copy(update={"memory": 4 * GIB})
on_node = partial(environment_rows, REPLICA, NODE, boot=facts().boot)
FILES = Mounted(point="/data", type="tmpfs")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            in_guest(SEEN.model_copy(update={"cpus": (0,)}), GuestHardware("kvm", 4 * GIB, ((2,),))),
            ["vcpus 1, requested 2", "vm pinning 2, requested 2, 3"],
        ),
        (
            in_guest(SEEN.model_copy(update={"memory": 2 * GIB}), GuestHardware("kvm", 2 * GIB, PINNED)),
            ["vm memory 2GiB, requested 4GiB"],
        ),
        (
            in_guest(SEEN, GuestHardware("kvm", 4 * GIB, PINNED), host=InForce(cpu=1.0, memory=2 * GIB, cores=(2, 3))),
            [
                "vcpus 2 in a control group that is held to 1, requested 2",
                "vm memory 4GiB in a control group that is held to 2GiB, requested 4GiB",
            ],
        ),
        (in_guest(SEEN, GuestHardware("kvm", 4 * GIB, ((2, 3), (2, 3)))), ["vm pinning 2-3, 2-3, requested 2, 3"]),
        (in_guest(SEEN, GuestHardware("tcg", 4 * GIB, PINNED)), ["accelerator tcg, requested kvm"]),
        (
            on_node("bare", "bare", "disk", facts(namespaces={"pid": "node"}), of_process(pid="node")),
            ["environment container (given), requested bare"],
        ),
        (
            on_node("container", "container", "volume", facts(), of_process(mnt="own", net="own")),
            [
                "environment a process with its own mnt and net namespaces, started by no engine, requested container",
            ],
        ),
        (
            on_node("container", "container", "volume", facts(), in_container(FILES)),
            ["files memory (tmpfs at /data), requested volume"],
        ),
    ],
    ids=[
        "vcpus",
        "memory",
        "quota of QEMU",
        "pinning",
        "accelerator",
        "bare in a container",
        "no engine",
        "wrong mount",
    ],
)
def test_the_trial_is_invalid_for_a_sentence_that_says_what_is_wrong(rows: list[AuditRow], sentence: list[str]) -> None:
    assert mismatches(rows) == [f"audit: geo-1 on worker-1 has {end}" for end in sentence]


def test_what_is_as_the_study_says_is_no_reason() -> None:
    rows = in_guest(SEEN, GuestHardware("kvm", 4 * GIB, PINNED))
    rows += on_node("bare", "bare", "disk", facts(), of_process(Mounted(point="/", type="ext4")))
    assert len(rows) == 7 and mismatches(rows) == []
