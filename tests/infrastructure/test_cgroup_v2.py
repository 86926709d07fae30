"""Version 2 on a folder tree that imitates it, and what needs no controllers on the kernel's own hierarchy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from loadstone.infrastructure.cgroup import CgroupError, Limits, Mount, find
from loadstone.infrastructure.cgroup.mounts import read_mounts
from loadstone.infrastructure.cgroup.v2 import V2
from tests.infrastructure.conftest import Join, tree

MIB = 2**20
GROUP = "loadstone/d/geo-1"


@pytest.fixture
def imitation(tmp_path: Path) -> tuple[Path, V2]:
    """A mounted hierarchy and a /proc in which process 7 is in GROUP."""
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    tree(
        root,
        {
            "cgroup.controllers": "cpuset cpu io memory pids\n",
            "cgroup.subtree_control": "\n",
            "cgroup.procs": "1\n",
            "cpuset.cpus.effective": "0-3\n",
        },
    )
    tree(proc, {"7/cgroup": f"0::/{GROUP}\n"})
    return root, V2(Mount(root, PurePosixPath("/"), None), proc)


def test_make_hands_controllers_down_and_limits(imitation: tuple[Path, V2]) -> None:
    root, groups = imitation
    assert groups.problem() is None
    groups.make(GROUP, Limits(cpu=1.5, memory=64 * MIB, cores=(1, 2)))
    for above in (root, root / "loadstone", root / "loadstone/d"):
        assert (above / "cgroup.subtree_control").read_text() == "+cpu +memory +cpuset +pids"
    folder = root / GROUP
    assert not (folder / "cgroup.subtree_control").exists()  # a group with processes hands nothing down
    assert (folder / "cpu.max").read_text() == "150000 100000"
    assert (folder / "memory.max").read_text() == str(64 * MIB)
    assert (folder / "cpuset.cpus").read_text() == "1-2"
    (folder / "memory.swap.max").write_text("max")
    groups.make(GROUP, Limits(memory=64 * MIB))
    assert (folder / "memory.swap.max").read_text() == "0"
    groups.make(GROUP, Limits())
    written = {file: (folder / file).read_text() for file in ("cpu.max", "memory.max", "memory.swap.max")}
    assert written == {"cpu.max": "max 100000", "memory.max": "max", "memory.swap.max": "max"}


def test_the_tightest_limit_of_the_hierarchy_is_effective(imitation: tuple[Path, V2]) -> None:
    root, groups = imitation
    groups.make(GROUP, Limits(cpu=1, memory=64 * MIB))
    assert groups.effective(7) == Limits(1, 64 * MIB, (0, 1, 2, 3))
    assert groups.holds(GROUP, 7) and groups.holds("loadstone", 7)
    assert not groups.holds("loadstone/d/geo-2", 7) and not groups.holds(GROUP, 8)
    tree(root, {"loadstone/cpu.max": "25000 50000\n", "loadstone/d/memory.max": f"{MIB}\n"})
    tree(root / GROUP, {"cpuset.cpus.effective": "2\n"})
    assert groups.effective(7) == Limits(0.5, MIB, (2,))
    tree(root, {"loadstone/d/memory.max": f"{2**63 - MIB}\n", f"{GROUP}/memory.max": "max\n"})
    assert groups.effective(7).memory is None  # what cannot be left out is made as large as can be
    with pytest.raises(CgroupError, match="process 8"):
        groups.effective(8)


def test_usage(imitation: tuple[Path, V2]) -> None:
    root, groups = imitation
    tree(
        root / GROUP,
        {
            "cpu.stat": "usage_usec 2500000\nuser_usec 1\nnr_periods 10\nnr_throttled 4\nthrottled_usec 300000\n",
            "memory.current": "4096\n",
            "memory.events": "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n",
            "cgroup.procs": "7\n8\n",
        },
    )
    usage = groups.usage(GROUP)
    assert (usage.cpu_s, usage.periods, usage.throttled_periods, usage.throttled_s) == (2.5, 10, 4, 0.3)
    assert (usage.memory, usage.memory_peak, usage.oom_kills, usage.pids) == (4096, None, 2, 2)
    tree(root / GROUP, {"memory.peak": "8192\n"})
    assert groups.usage(GROUP).memory_peak == 8192
    with pytest.raises(CgroupError, match="cannot read"):
        groups.usage("loadstone/other")


def test_why_it_cannot_be_used(imitation: tuple[Path, V2], monkeypatch: pytest.MonkeyPatch) -> None:
    root, groups = imitation
    (root / "cgroup.type").write_text("domain\n")  # a container's root: an ordinary group
    assert "cannot hand controllers down (are we in a container?)" in str(groups.problem())
    (root / "cgroup.procs").write_text("")
    assert groups.problem() is None
    (root / "cgroup.controllers").write_text("cpu pids\n")
    assert groups.problem() == f"the controllers cpuset, memory are not available in {root}"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert groups.problem() == f"no permission to make control groups below {root}; run as root"


def test_the_unified_hierarchy_counts_only_with_controllers(imitation: tuple[Path, V2]) -> None:
    root, _ = imitation
    proc = root.parent / "proc"
    tree(proc, {"self/mountinfo": f"41 31 0:38 / {root} rw - cgroup2 cgroup2 rw\n"})
    assert find(proc).version == 2
    (root / "cgroup.controllers").write_text("hugetlb\n")
    assert find(proc).version == 1


@pytest.fixture
def kernel(root_only: None, group: str) -> Iterator[V2]:
    """The kernel's own unified hierarchy, whichever controllers it has; groups are plain folders there."""
    mount = next((mount for mount in read_mounts(Path("/proc")) if mount.controllers is None), None)
    if mount is None or not os.access(mount.point, os.W_OK):
        pytest.skip("no writable unified hierarchy is mounted")
    groups = V2(mount)
    (mount.point / group).mkdir(parents=True)
    yield groups
    groups.kill(group.split("/")[0])
    groups.remove(group.split("/")[0])


@pytest.mark.root
def test_join_kill_and_remove_on_the_kernel_s_hierarchy(kernel: V2, group: str, join: Join) -> None:
    process = join(kernel, group, "sleep 60 & wait")
    assert process.pid in kernel.processes(group)
    top = group.split("/")[0]
    kernel.kill(top)
    assert kernel.processes(top) == set()
    assert process.wait() == -9
    kernel.remove(group)
    assert not kernel.exists(top)
