"""One emulated host: namespaces of its own (network, mount, UTS) and a control group that holds all its processes.

Its first process, ``init``, keeps the mount and UTS namespaces, which ``software.room`` sets up: whatever is mounted in
them ends with the last process of the host, so killing the control group unmounts everything.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.infrastructure import cgroup
from loadstone.infrastructure.namespaces.commands import WITH_US, environment
from loadstone.infrastructure.software import room
from loadstone.model.cluster import Reach
from loadstone.model.errors import DeploymentError

_INIT = "init"


@dataclass(frozen=True)
class Host:
    """A host on this machine: pure data, and what can be done with it. The same data finds it again later."""

    name: str
    """Within its cluster, and what it calls itself: ``worker-2``."""
    address: str
    """Its IP address, which this machine and all hosts of its cluster reach."""
    namespace: str
    """Its network namespace: a path such as ``/run/netns/<cluster>-worker-2``."""
    folder: Path
    """Everything of it on disk."""
    group: str
    """Its control group: daemons are in ``<group>/daemons``, containers belong below ``<group>/containers``."""
    nameserver: str = "127.0.0.1"
    """The address that it asks for names."""

    @property
    def reach(self) -> Reach:
        """The way to it as a machine."""
        names = ("name", "address", "namespace", "group", "nameserver")
        return Reach(transport="emulated", options={"folder": str(self.folder), **{k: getattr(self, k) for k in names}})

    @property
    def daemons(self) -> str:
        """The control group of its daemons."""
        return f"{self.group}/daemons"

    @property
    def containers(self) -> str:
        """The control group below which its engine makes those of containers."""
        return f"{self.group}/containers"

    def boot(self) -> None:
        """Start its first process; the network namespace must be there. Also starts a stopped host again."""
        groups = cgroup.find()
        for group in (self.daemons, self.containers):
            for place in groups.everywhere(group):
                cgroup.make_folders(place)
            groups.make(group, cgroup.Limits())
        for folder in (self._pids, self._logs):
            folder.mkdir(parents=True, exist_ok=True)
        setup = ["sh", "-ec", room.SETUP, _INIT, self.name, self.address, self.nameserver]
        command = ["nsenter", f"--net={self.namespace}", *room.UNSHARE, *setup]
        said = self._start(_INIT, command, {}, "2>&1").split("\n")
        if room.UP not in said:
            self.stop()
            raise DeploymentError(f"emulated host {self.name} cannot be made: {' '.join(said).strip()}")

    def spawn(self, name: str, argv: list[str], environment: dict[str, str] = {}, mounts: str = "") -> None:  # noqa: B006
        """Start a daemon in the host; it outlives us. What it says goes to ``<folder>/logs/<name>.log``.

        ``mounts``: shell lines run as root in the host's mount namespace before it, for bind mounts and the like;
        all daemons of a host share that namespace. Whether the daemon could start is seen by ``alive`` and ``log``.
        """
        inner = ["sh", "-ec", f'{mounts}\nexec "$@"', name, *argv]
        output = f">>{shlex.quote(str(self._logs / name))}.log 2>&1"
        self._start(name, [*self._enter(), *inner], environment, output)

    def run(self, argv: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command in the host to its end, which is ours at the latest; ``options`` as of ``subprocess.run``.

        Output is captured text.
        """
        return subprocess.run(
            [*WITH_US, *self.command(argv)],
            **{"capture_output": True, "text": True, "check": False, "env": environment(), **options},
        )

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs ``argv`` in the host, among its daemons."""
        # Without WITH_US: that is the death of the thread that starts it, and a channel outlives the one that opens it.
        return ["sh", "-ec", f'{self._join()}exec "$@"', "run", *self._enter(), *argv]

    def log(self, name: str, lines: int) -> str:
        """The last lines that a daemon wrote; empty if it never started."""
        with contextlib.suppress(FileNotFoundError):
            text = (self._logs / f"{name}.log").read_text(encoding="utf-8", errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    def up(self) -> bool:
        """Whether the host was booted and not stopped since."""
        return self.alive(_INIT)

    def alive(self, name: str) -> bool:
        """Whether a daemon that was spawned runs; False for one that never was."""
        pid = self._pid(name)
        return pid is not None and pid in cgroup.find().processes(self.group)

    def names(self) -> list[str]:
        """The daemons that were spawned on this host, dead or alive."""
        return sorted(file.name for file in self._pids.glob("*") if file.name != _INIT)

    def stop(self) -> None:
        """End every process of the host at once, as a power cut would. May be called twice."""
        cgroup.find().kill(self.group)

    @property
    def _pids(self) -> Path:
        return self.folder / "pids"

    @property
    def _logs(self) -> Path:
        return self.folder / "logs"

    def _pid(self, name: str) -> int | None:
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self._pids / name).read_text())
        return None

    def _join(self) -> str:
        """Shell lines that move the shell into the control group of the daemons, before it becomes anything else."""
        return "".join(f"echo $$ >{shlex.quote(str(file))}\n" for file in cgroup.find().joining(self.daemons))

    def _enter(self) -> list[str]:
        """The command line that enters the host."""
        if not self.up():
            raise DeploymentError(f"emulated host {self.name} is not running")
        return ["nsenter", "--target", str(self._pid(_INIT)), "--net", "--mount", "--uts", "--"]

    def _start(self, name: str, argv: list[str], more: dict[str, str], output: str) -> str:
        """Start a process that is nobody's child, its id in a file; returns what it says until it closes its output."""
        pid = shlex.quote(str(self._pids / name))
        script = f'{self._join()}ulimit -S -n $(ulimit -H -n)\ncd /\nsetsid "$@" </dev/null {output} &\necho $! >{pid}'
        done = subprocess.run(
            [*WITH_US, "sh", "-ec", script, name, *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=environment(more),
        )
        if done.returncode != 0:
            raise DeploymentError(f"{name} cannot be started on emulated host {self.name}: {done.stdout.strip()}")
        return done.stdout
