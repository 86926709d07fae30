"""What a cluster leaves on this machine: lists of it before and after must be equal.

Other programs of this machine come and go meanwhile, so ``mark`` picks what belongs to one cluster: all names that a
cluster of emulated hosts makes contain its id. ``knobs`` are machine-wide and always listed whole.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

MACHINE = ("system", "knobs")
"""What a snapshot lists of the whole machine, whatever the mark."""
_CGROUPS = Path("/sys/fs/cgroup")
_WRITABLE = ("docker", "containerd", "cni", "kubernetes", "kubelet", "nomad", "consul", "calico", "flannel")
_KNOBS = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/ipv4/ip_forward",
    "vm/max_map_count",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)


def snapshot(mark: str = "", folders: tuple[Path, ...] = ()) -> dict[str, list[str]]:
    """What is there now, by kind, sorted; ``folders`` are looked through too. Equal snapshots: nothing was left."""
    listed = {
        "processes": _processes(),
        "groups": (str(path) for path, _, _ in os.walk(_CGROUPS)),
        "namespaces": (path.name for path in Path("/run/netns").glob("*")),
        "links": (link["ifname"] for link in json.loads(_output_of("ip", "-j", "link"))),
        "routes": _output_of("ip", "route", "show", "table", "all").splitlines(),
        "rules": _rules(),
        "mounts": Path("/proc/self/mountinfo").read_text().splitlines(),
        "files": (str(file) for folder in folders for file in folder.rglob("*")),
    }
    found = {kind: sorted(line for line in lines if mark in line) for kind, lines in listed.items()}
    folders_of_daemons = [
        Path(folder, name) for folder in ("/etc", "/run", "/var/lib", "/var/log", "/opt") for name in _WRITABLE
    ]
    of_networks = Path("/var/lib/docker/network/files").glob("*")
    found["system"] = sorted(str(path) for path in (*folders_of_daemons, *of_networks) if _holds_anything(path))
    knobs = [knob for knob in _KNOBS if Path("/proc/sys", knob).exists()]
    found["knobs"] = [f"{knob} {Path('/proc/sys', knob).read_text().strip()}" for knob in knobs]
    return found


def _holds_anything(path: Path) -> bool:
    """Whether there are files; an empty folder is what something was mounted on."""
    return any(path.rglob("*")) if path.is_dir() else path.exists()


def _processes() -> Iterator[str]:
    """Each process in a control group, or whose command line tells where it belongs; zombies are left out."""
    for process in psutil.process_iter(["status"]):
        if process.info["status"] == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
            continue
        try:
            groups = Path(f"/proc/{process.pid}/cgroup").read_text().replace("\n", " ")
            yield f"{process.pid} {' '.join(process.cmdline())} {groups}"
        except (OSError, psutil.Error):  # it has just ended
            continue


def _rules() -> Iterator[str]:
    """Firewall rules of the root namespace; counters and comments change by themselves."""
    for program in ("iptables-save", "ip6tables-save"):
        yield from (line for line in _output_of(program).splitlines() if line.startswith("-A"))


def _output_of(*command: str) -> str:
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    return subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": path}).stdout
