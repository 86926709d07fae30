"""The disk of guests: made once of the distribution's packages, and kept by what is in it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadstone.infrastructure.base import Say
from loadstone.model.errors import PreflightError

_MAKER = "mmdebstrap"
_KERNELS = {"debian": "linux-image-cloud-amd64", "ubuntu": "linux-image-virtual"}
_PACKAGES = (
    "openssh-server",
    "iproute2",
    "kmod",
    "procps",
    "tini",
    "postgresql",
    "memcached",
    "redis-server",
    "nginx",
    "docker.io",
    "stress-ng",
)
_EXCLUDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")
_SIZE = "8G"
_BUILT_WITHIN_S = 1800.0
_MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "virtio_rng", "e1000", "ext4")
_INITIAL = f"""
mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/loadstone"
printf '%s\\n' {" ".join(_MODULES)} >"$1/etc/initramfs-tools/modules"
"""
INIT = """#!/bin/sh
# The first process of a guest: its name, keys and address come on the second disk.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mountpoint -q /proc || mount -t proc proc /proc
mountpoint -q /sys || mount -t sysfs sysfs /sys
mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev
mountpoint -q /run || mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /dev/pts /dev/shm /run/sshd
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
tar -x --no-same-owner -f /dev/vdb -C /
. /etc/loadstone-guest
hostname "$NAME"
echo "$NAME" >/etc/hostname
printf '127.0.0.1 localhost\\n%s %s\\n' "${ADDRESS%/*}" "$NAME" >/etc/hosts
ip link set lo up
ip address add "$ADDRESS" dev eth0
ip link set eth0 up
ip route add default via "$GATEWAY"
rm -f /etc/resolv.conf
echo "nameserver $NAMESERVER" >/etc/resolv.conf
ulimit -n 1048576
exec tini -- /usr/sbin/sshd -D -e
"""


@dataclass(frozen=True)
class Image:
    """A disk that guests lie over, and what boots it."""

    disk: Path
    kernel: Path
    initrd: Path


def folder() -> Path:
    """``$XDG_CACHE_HOME/loadstone/guests`` or ``~/.cache/loadstone/guests``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loadstone" / "guests"


def missing() -> list[str]:
    """The programs that are missing to make it."""
    return [] if _there(_place()) else [name for name in (_MAKER, "mke2fs") if shutil.which(name, path=_PATH) is None]


def image(say: Say) -> Image:
    """The image for guests of this machine's distribution; raises PreflightError where it cannot be made."""
    place = _place()
    with _alone(place):
        if not _there(place):
            say("making the image of guests (some minutes, once)")
            _make(place)
    return Image(place / "disk.raw", place / "vmlinuz", place / "initrd")


_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _distribution() -> tuple[str, str]:
    release = platform.freedesktop_os_release()
    return release.get("ID", ""), release.get("VERSION_CODENAME", "")


def _packages() -> tuple[str, ...]:
    kernel = _KERNELS.get(_distribution()[0])
    return (kernel, *_PACKAGES) if kernel is not None else ()


def _place() -> Path:
    content = "\n".join([*_distribution(), *_packages(), *_MODULES, *_EXCLUDED, _SIZE, INIT])
    return folder() / hashlib.sha256(content.encode()).hexdigest()[:12]


def _there(place: Path) -> bool:
    return (place / "disk.raw").exists()


def _make(place: Path) -> None:
    """The disk gets its name last."""
    packages = _packages()
    if not packages:
        raise PreflightError(
            f"guests are made of packages of Debian or Ubuntu, and this is {_distribution()[0] or 'another system'}",
            "run the study on one of them, or on virtual machines that you have: cluster: {machine: vm}",
        )
    root = place / "root"
    shutil.rmtree(root, ignore_errors=True)
    exclude = [f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED]
    command = [_MAKER, "--mode=root", "--variant=minbase", "--format=directory", "--skip=check/qemu", *exclude]
    command += [f"--essential-hook={_INITIAL}", f"--include={','.join(packages)}", _distribution()[1], str(root)]
    try:
        _run(command)
        (root / "sbin/loadstone-init").write_text(INIT)
        (root / "sbin/loadstone-init").chmod(0o755)
        (root / "etc/fstab").write_text("")
        for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd", "initrd.img-*")):
            shutil.copy(max((root / "boot").glob(pattern)), place / name)
        _run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(root), str(place / "disk.part"), _SIZE])
        (place / "disk.part").rename(place / "disk.raw")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _run(command: list[str]) -> None:
    environment = {**os.environ, "PATH": _PATH}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_BUILT_WITHIN_S, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PreflightError(f"the image of guests cannot be made: {error}", _REMEDY) from None
    if done.returncode != 0:
        complaint = next((line for line in done.stderr.splitlines() if line.startswith("E:")), done.stderr[-300:])
        raise PreflightError(f"the image of guests cannot be made: {command[0]}: {complaint.strip()}", _REMEDY)


_REMEDY = "it needs mmdebstrap, e2fsprogs and the distribution's package servers"


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Held while it is made: another client that needs it waits."""
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
