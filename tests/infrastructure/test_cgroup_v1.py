from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from loadstone.infrastructure.cgroup import CgroupError, Limits, Mount, find
from loadstone.infrastructure.cgroup.mounts import groups_of, read_mounts
from loadstone.infrastructure.cgroup.v1 import V1
from tests.infrastructure.conftest import Join, tree

MIB = 2**20


@pytest.fixture
def groups(root_only: None, group: str) -> Iterator[V1]:
    found = find()
    if not isinstance(found, V1) or found.problem():
        pytest.skip(f"needs control groups of version 1: {found.problem()}")
    yield found
    top = group.split("/")[0]
    found.kill(top)
    found.remove(top)


@pytest.mark.root
def test_limits_are_in_force_for_who_joins(groups: V1, group: str, join: Join) -> None:
    core = min(os.sched_getaffinity(0))
    groups.make(group, Limits(cpu=0.5, memory=64 * MIB, cores=(core,)))
    process = join(groups, group, "exec sleep 60")
    assert groups.effective(process.pid) == Limits(cpu=0.5, memory=64 * MIB, cores=(core,))
    assert groups.processes(group) == {process.pid}
    assert groups.holds(group, process.pid) and not groups.holds(group, os.getpid())


@pytest.mark.root
def test_making_a_group_again_limits_it_anew_up_and_down(groups: V1, group: str, join: Join) -> None:
    groups.make(group, Limits(cpu=0.5, memory=64 * MIB))
    process = join(groups, group, "exec sleep 60")
    for memory in (256 * MIB, 32 * MIB, None):
        groups.make(group, Limits(cpu=1, memory=memory))
        assert groups.effective(process.pid).memory == memory
    groups.make(group, Limits())
    assert replace(groups.effective(process.pid), cores=None) == Limits()


@pytest.mark.root
def test_a_tighter_limit_above_is_what_counts(groups: V1, group: str, join: Join) -> None:
    groups.make(group.rpartition("/")[0], Limits(cpu=0.25, memory=16 * MIB))
    with pytest.raises(CgroupError, match=r"'100000'.*does a group above it have a smaller quota\?"):
        groups.make(group, Limits(cpu=1))
    groups.make(group, Limits(cpu=None, memory=64 * MIB))
    process = join(groups, group, "exec sleep 60")
    effective = groups.effective(process.pid)
    assert (effective.cpu, effective.memory) == (0.25, 16 * MIB)


@pytest.mark.root
def test_throttling_is_counted(groups: V1, group: str, join: Join) -> None:
    groups.make(group, Limits(cpu=0.1))
    process = join(groups, group, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    process.wait()
    usage = groups.usage(group)
    assert usage.cpu_s > 0
    assert usage.periods and usage.throttled_periods and usage.throttled_s


@pytest.mark.root
def test_running_out_of_memory_is_counted_and_the_peak_starts_anew(groups: V1, group: str, join: Join) -> None:
    groups.make(group, Limits(memory=16 * MIB))
    process = join(groups, group, "exec tail /dev/zero")  # keeps all that it reads
    assert process.wait() == -9
    usage = groups.usage(group)
    assert usage.oom_kills == 1
    assert usage.memory_peak is not None and usage.memory_peak > 8 * MIB
    assert groups.reset_peak(group)
    fresh = groups.usage(group).memory_peak
    assert fresh is not None and fresh < usage.memory_peak


@pytest.mark.root
def test_kill_and_remove_leave_nothing(groups: V1, group: str, join: Join) -> None:
    groups.make(group, Limits())
    join(groups, group, "sleep 60 & sleep 60 & wait")
    top = group.split("/")[0]
    groups.kill(top)
    assert groups.processes(top) == set()
    groups.remove(group)  # and the groups above it, which hold nothing else
    assert not groups.exists(top)
    groups.kill(group)
    groups.remove(group)


def test_mounts_of_a_hybrid_machine(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "self/mountinfo": (
                "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
                "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
                "33 31 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
                "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
            ),
            "7/cgroup": "4:cpu,cpuacct:/docker/abc/x\n1:name=systemd:/\n0::/user\n",
        },
    )
    cpu, systemd, unified = read_mounts(tmp_path)
    assert cpu == Mount(Path("/sys/fs/cgroup/cpu,cpuacct"), PurePosixPath("/docker/abc"), frozenset({"cpu", "cpuacct"}))
    assert systemd.controllers == {"name=systemd"}
    assert unified.controllers is None
    assert cpu.folder("/docker/abc/x") == Path("/sys/fs/cgroup/cpu,cpuacct/x")
    assert cpu.folder("/elsewhere") == Path("/sys/fs/cgroup/cpu,cpuacct")
    assert groups_of(tmp_path, 7)[None] == "/user"
    assert groups_of(tmp_path, 7)[frozenset({"cpu", "cpuacct"})] == "/docker/abc/x"


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("2:memory:/loadstone/geo\n1:cpu,cpuacct:/loadstone/geo\n", True),
        ("2:memory:/loadstone/geo/below\n1:cpu,cpuacct:/loadstone/geo\n", True),
        ("2:memory:/loadstone/geo-2\n1:cpu,cpuacct:/loadstone/geo\n", False),
        ("2:memory:/loadstone/geo\n1:cpu,cpuacct:/\n", False),  # it joins one hierarchy after the other
        ("2:memory:/\n1:cpu,cpuacct:/\n", False),  # what the kernel says of one that is about to end
    ],
)
def test_who_is_in_a_group_says_so_wherever_limits_are(tmp_path: Path, said: str, holds: bool) -> None:
    tree(tmp_path, {"7/cgroup": f"3:cpuset:/nomad/shared\n{said}"})
    controllers = [frozenset({"memory"}), frozenset({"cpu", "cpuacct"}), frozenset({"cpuset"})]
    mounts = [Mount(tmp_path / "-".join(sorted(one)), PurePosixPath("/"), one) for one in controllers]
    assert V1(mounts, tmp_path).holds("loadstone/geo", 7) is holds
    assert not V1(mounts, tmp_path).holds("loadstone/geo", 8)


def test_what_is_missing_is_named() -> None:
    assert V1([]).problem() == "no control groups for cpu, cpuacct, memory, cpuset are mounted"
    assert V1([]).effective(os.getpid()) == Limits()


def test_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mount = Mount(tmp_path, PurePosixPath("/"), frozenset({"cpu", "cpuacct", "memory", "cpuset"}))
    assert V1([mount]).problem() is None
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert V1([mount]).problem() == f"no permission to make control groups below {tmp_path}; run as root"
