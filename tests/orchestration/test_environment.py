"""What a replica runs in is read back: each row of the audit, broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadstone.infrastructure.machines import this_machine
from loadstone.model.cluster import Node, Reach
from loadstone.model.environment import Environment
from loadstone.model.records.node.deployments import SpawnArgs
from loadstone.model.records.node.machine import Facts
from loadstone.model.records.node.replicas import Mounted, ReplicaEnvironment, Subject
from loadstone.orchestration.environment import Files, environment_of, environment_rows
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes
from tests.support.standings import facts, in_container, of_process
from tests.support.users import wait

REAL, GUEST = facts(), facts(guest=True)
SHARED = "a container with its machine's {} namespace"
DISK, MEMORY = Mounted(point="/", type="ext4"), Mounted(point="/tmp", type="tmpfs")
INSIDE = facts(namespaces={"pid": "node"})
"""Facts of a machine whose node runs in a container."""


def rows(
    requested: Environment | None, default: Any, machine: Facts, found: ReplicaEnvironment | None, files: Files = "disk"
) -> dict[str, tuple[str, str, bool]]:
    replica = deployed(parse(SERVICES), two_nodes()).of("geo")[0]
    node = Node(name="worker-1", role="worker", address="127.0.0.1", cpus=(0,), memory=2**33)
    read = environment_rows(replica, node, requested, default, files, machine, found, boot="b007")
    return {row.what: (row.wanted, row.effective, row.ok) for row in read}


@pytest.mark.parametrize(
    ("requested", "default", "machine", "found", "wanted", "effective"),
    [
        ("bare", "bare", REAL, of_process(), "bare", "bare"),
        (None, "bare", REAL, None, "bare", "bare"),
        ("container", "container", REAL, in_container(), "container", "container"),
        (None, "bare", GUEST, of_process(), "vm (guest given)", "vm (guest given)"),
        (None, "container", GUEST, in_container(), "vm-container (guest given)", "vm-container (guest given)"),
        ("vm (guest given)", "bare", GUEST, of_process(), "vm (guest given)", "vm (guest given)"),
        (None, "bare", INSIDE, of_process(pid="node"), "container (given)", "container (given)"),
        # Broken:
        ("bare", "bare", GUEST, of_process(), "bare", "vm (guest given)"),
        ("bare", "bare", GUEST, None, "bare", "vm (guest given)"),
        ("vm (guest given)", "bare", REAL, of_process(), "vm (guest given)", "bare"),
        ("container", "container", GUEST, in_container(), "container", "vm-container (guest given)"),
        ("bare", "bare", INSIDE, of_process(pid="node"), "bare", "container (given)"),
        ("bare", "bare", REAL, in_container(), "bare", "container"),
        (None, "bare", REAL, in_container(), "bare", "container"),
        ("container", "container", REAL, of_process(), "container", "bare"),
        (
            "container",
            "container",
            REAL,
            of_process(mnt="own", pid="own", net="own"),
            "container",
            "a process with its own mnt and pid and net namespaces, started by no engine",
        ),
        ("container", "container", REAL, in_container(net="node"), "container", SHARED.format("net")),
        ("container", "container", REAL, in_container(pid="kernel"), "container", SHARED.format("pid")),
    ],
)  # fmt: skip
def test_the_environment_is_what_the_kernel_has(
    requested: Environment | None,
    default: str,
    machine: Facts,
    found: ReplicaEnvironment | None,
    wanted: str,
    effective: str,
) -> None:
    assert rows(requested, default, machine, found)["environment"] == (wanted, effective, wanted == effective)


def test_namespaces_that_the_kernel_does_not_show_are_not_held_against_an_engine() -> None:
    assert environment_of(REAL, in_container(mnt="", pid="", net="")) == "container"


def test_replicas_on_this_machine_are_on_its_kernel() -> None:
    assert rows(None, "bare", facts(), of_process())["kernel"] == ("this machine's", "this machine's", True)
    other = rows(None, "bare", facts(boot="another"), of_process())["kernel"]
    assert other == ("this machine's", "that of another boot, 6.1.0", False)


def test_a_host_elsewhere_may_have_any_kernel() -> None:
    replica, node = deployed(parse(SERVICES), two_nodes()).of("geo")[0], two_nodes()[1]
    far = node.model_copy(update={"reach": Reach(transport="ssh", options={"host": "far"})})
    read = environment_rows(replica, far, None, "bare", "disk", facts(boot="another"), of_process(), boot="b007")
    assert [row.what for row in read] == ["environment"]


@pytest.mark.parametrize(
    ("wanted", "found", "effective"),
    [
        ("disk", of_process(files=DISK), "disk"),
        ("disk", of_process(files=MEMORY), "memory (tmpfs at /tmp)"),
        ("volume", in_container(Mounted(point="/data", type="ext4")), "volume"),
        ("volume", in_container(Mounted(point="/", type="overlay")), "layer"),
        ("layer", in_container(Mounted(point="/", type="overlay")), "layer"),
        ("layer", in_container(Mounted(point="/data", type="ext4")), "volume"),
        ("volume", in_container(Mounted(point="/data", type="tmpfs")), "memory (tmpfs at /data)"),
    ],
)  # fmt: skip
def test_files_are_where_the_orchestrator_puts_them(wanted: Files, found: ReplicaEnvironment, effective: str) -> None:
    default = "bare" if wanted == "disk" else "container"
    assert rows(None, default, REAL, found, wanted)["files"] == (wanted, effective, wanted == effective)


@pytest.fixture
def group(own_folders: Path, control_groups: None) -> Iterator[str]:
    machine = this_machine()
    begun = machine.begin("environments", "x", "a test").group
    assert begun is not None
    yield begun
    machine.end("environments")


@pytest.mark.root
def test_a_process_with_namespaces_of_its_own_is_no_container(group: str) -> None:
    machine = this_machine()
    spawned = {
        name: machine.spawn(SpawnArgs(deployment="environments", name=name, argv=(*argv, "sleep", "1000")))
        for name, argv in {"plain": (), "apart": ("unshare", "--mount", "--net")}.items()
    }
    subjects = {name: Subject(group=f"{group}/{name}", folder="/proc") for name in ("plain", "apart")}
    here = machine.facts()
    wait(lambda: "sleep" in (psutil.Process(spawned["apart"].pid).cmdline() or [""])[0])  # unshare has become it
    found = {name: standing.environment for name, standing in machine.read(["environment"], subjects).items()}
    assert environment_of(here, found["plain"]) == environment_of(here, None)
    described = environment_of(here, found["apart"])
    assert described == "a process with its own mnt and net namespaces, started by no engine"
    assert found["plain"] is not None and found["plain"].files == Mounted(point="/proc", type="proc")
