"""The same control group read by a machine's node and by an agent; what neither can read; agents that misbehave."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure.machines import this_machine
from loadstone.model.cluster import Node, Reach
from loadstone.model.deployment import FoundReplica
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.node.deployments import NodeLimits, SpawnArgs
from loadstone.model.records.node.replicas import InForce, Standing
from loadstone.orchestration.auditing import audit_container
from loadstone.orchestration.limits_reader import Reader
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes
from tests.support import groups
from tests.support.standings import facts, standing, used
from tests.support.users import wait

MIB = 2**20
GEO = "0123456789abcdef" * 4


def replica(name: str = "geo-1", node: str = "worker-1", container: str = GEO, why: str = "") -> FoundReplica:
    return FoundReplica(
        name=name, service=name[:-2], node=node, state="running", healthy=not why, why=why, container=container
    )


def worker(name: str = "worker-1", cores: tuple[int, ...] = (0, 1)) -> Node:
    return Node(name=name, role="worker", address="127.0.0.1", cpus=cores, memory=2**33)


def audited(found: FoundReplica, standing: Standing, node: Node) -> list[AuditRow]:
    deployment = deployed(parse(SERVICES), [two_nodes()[0], node])
    here = this_machine().facts()
    return audit_container(found, deployment.of("geo")[0], deployment, standing, here, "volume")


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (Standing.nothing("no control group of it is there"), "no control group of it is there"),
        (
            standing(InForce(cpu=None, memory=None, cores=None), used(pids=0)),
            "no process of it runs",
        ),
    ],
)
def test_what_cannot_be_read_is_a_mismatch_with_its_reason(reading: Standing, why: str) -> None:
    (row,) = audited(replica(), reading, worker())
    assert not row.ok and (row.what, row.wanted, row.effective) == ("container", "running", why)
    (row,) = audited(replica(why="starting"), reading, worker())
    assert row.effective == f"starting; {why}"


@pytest.mark.parametrize(("page", "effective"), [(4096, 10 * MIB + 8192), (2**16, 10 * MIB)])
def test_a_limit_of_memory_is_put_in_the_pages_of_its_machine(page: int, effective: int) -> None:
    deployment = deployed(parse(SERVICES), [two_nodes()[0], worker()])
    wanted = deployment.of("geo")[0]
    wanted = wanted.model_copy(update={"resources": wanted.resources.model_copy(update={"memory": 10 * MIB + 8195})})
    there = facts().model_copy(update={"page": page})

    def memory(limit: int) -> AuditRow:
        limits = InForce(cpu=wanted.resources.cpu, memory=limit, cores=(0, 1))
        rows = audit_container(replica(), wanted, deployment, standing(limits, used()), there, "volume")
        return next(row for row in rows if row.what == "memory")

    assert memory(effective).ok and not memory(effective - page).ok


def test_a_replica_has_the_cores_that_its_node_has_for_containers() -> None:
    node = worker(cores=(0, 1)).model_copy(update={"reach": Reach(transport="exec", options={})})
    deployment = deployed(parse(SERVICES), [two_nodes()[0], node])
    wanted = deployment.of("geo")[0]
    there = facts().model_copy(update={"cpus": (2, 3)})  # the cluster counts two, whichever they are

    def cores(effective: tuple[int, ...]) -> AuditRow:
        limits = InForce(cpu=wanted.resources.cpu, memory=wanted.resources.memory, cores=effective)
        rows = audit_container(replica(), wanted, deployment, standing(limits, used()), there, "volume")
        return next(row for row in rows if row.what == "cores")

    assert cores((2, 3)).ok
    assert (cores((2,)).ok, cores((2,)).wanted, cores((2,)).effective) == (False, "2-3", "2")


def test_each_is_read_on_its_machine(tmp_path: Path) -> None:
    options = {"host": "127.0.0.1", "config": str(tmp_path / "none")}
    lost = worker("worker-2").model_copy(update={"reach": Reach(transport="ssh", options=options)})
    reader = Reader([worker(), lost])
    found = [replica(f"{name}-1", node=f"worker-{number}") for number, name in enumerate("abc", 1)]
    standings = reader.read([*found, replica("d-1", node=""), replica("e-1", container="")])
    why = f"127.0.0.1: Can't open user config file {tmp_path}/none: No such file or directory"
    assert {name: standing.absent for name, standing in standings.items()} == {
        "a-1": "no control group of it is on this machine",
        "b-1": why,
        "c-1": "it is on 'worker-3', no node of this cluster",
        "d-1": "it has no node",
        "e-1": "it has no container",
    }
    assert reader.unreachable("worker") == {"worker-2": why}
    assert not any(reader.new_peaks(some) for some in ([], *([each] for each in found)))


@pytest.fixture
def container(own_folders: Path, control_groups: None) -> Iterator[tuple[str, list[Path]]]:
    """The id of a container and the folders of its group, with limits and two processes, as an engine makes it."""
    machine, identity, deployment = this_machine(), os.urandom(32).hex(), f"test-reading-{os.getpid()}"
    group = machine.begin(deployment, "1", "test").group
    try:
        core, argv = min(os.sched_getaffinity(0)), ("sh", "-c", "sleep 1000 & exec sleep 1000")
        limits = NodeLimits(cpu=0.25, memory=32 * MIB, cores=(core,))
        machine.spawn(SpawnArgs(deployment=deployment, name=f"docker-{identity}.scope", argv=argv, limits=limits))
        folders = groups.folders(f"{group}/docker-{identity}.scope")
        wait(lambda: len(groups.processes(folders)) == 2)
        yield identity, folders
    finally:
        machine.end(deployment)


@pytest.mark.root
def test_what_is_in_force_for_a_real_container(container: tuple[str, list[Path]]) -> None:
    identity, folders = container
    found, reader = replica(container=identity), Reader([worker()])
    (standing,) = reader.read([found], ("limits", "usage", "environment")).values()
    assert standing.limits is not None and standing.limits.cores is not None and len(standing.limits.cores) == 1
    assert standing.usage is not None and standing.usage.pids == 2 and standing.usage.memory > 0
    cores = standing.limits.cores
    assert [(row.what, row.effective, row.ok) for row in audited(found, standing, worker(cores=cores))] == [
        ("cpu", "0.25", True), ("memory", "32MiB", True), ("cores", str(cores[0]), True), ("node", "worker-1", True),
        ("environment", "a container with its machine's mnt and pid and net namespaces", False),
        ("kernel", "this machine's", True),
    ]  # fmt: skip

    groups.lift(folders, "memory")
    (standing,) = reader.read([found], ("limits", "environment")).values()
    wrong = [row.what for row in audited(found, standing, worker(cores=cores)) if not row.ok]
    assert wrong == ["memory", "environment"], "no engine gave it namespaces of its own"

    groups.kill(folders)
    wait(lambda: not groups.processes(folders))
    (standing,) = reader.read([found]).values()
    assert standing.limits is not None and standing.limits.cores is None
