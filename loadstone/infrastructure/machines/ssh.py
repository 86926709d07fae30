"""A host over the user's own OpenSSH: their configuration, agent, jump hosts and known hosts; one connection a host."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import shlex
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.machines.delivery import ROOTS_FOLDER, USERS_FOLDER, Delivery, architecture
from loadstone.infrastructure.machines.faults import MachineLost
from loadstone.infrastructure.machines.transport import Transport
from loadstone.model.errors import PreflightError

_CONNECT_S = 15
"""Includes the exchange of keys, which takes a host whose cores are all at work some seconds."""
_ALIVE_EVERY_S = 5
_ALIVE_MISSED = 4
"""A host that is silent for that many intervals is lost."""
PATIENCE = {
    "ConnectTimeout": _CONNECT_S,
    "ServerAliveInterval": _ALIVE_EVERY_S,
    "ServerAliveCountMax": _ALIVE_MISSED,
}
"""Settings of ssh: how long it waits for a host that does not answer, or no longer."""
_PERSIST_S = 20
"""The connection outlives a desk that was killed by so long."""
_FAILED = 255
"""What ssh exits with where it failed itself, not the command."""

_EXPLANATIONS = (
    (
        r"Offending \S+ key in (.+):(\d+)$",
        "its host key has changed",
        r"make sure that it is that host, then delete its old key: line \2 of \1",
    ),
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed",
        "make sure that it is that host, then forget the old key: ssh-keygen -R HOST",
    ),
    (
        r"Host key verification failed|No \S+ host key is known",
        "its host key is not known",
        "log in once by hand and compare the key: ssh HOST",
    ),
    (
        r"Permission denied|Too many authentication failures",
        "the login is refused: {line}",
        "check that `ssh HOST` works without a question: key, agent, user name",
    ),
    (
        r"Could not resolve hostname",
        "its name is not known: {line}",
        "check the address in the inventory, or the SSH configuration",
    ),
    (
        r"timed out|No route to host|Network is unreachable|Connection refused|Timeout, server|Connection reset"
        r"|Connection closed|Broken pipe|Control socket connect|mux_client",
        "it cannot be reached: {line}",
        "check that it is up, and that `ssh HOST` works",
    ),
)


_MAY = "may"
_LOOK = f"""
id -u
uname -m
echo "$HOME"
{{ if [ "$(id -u)" = 0 ] || sudo -n true; then echo {_MAY}; fi; }} 2>&1 | head -n 1
sha256sum "{ROOTS_FOLDER}/$1" "$HOME/{USERS_FOLDER}/$1" 2>/dev/null || true
"""
_OPEN = '[ "$(id -u)" = "$1" ] || [ ! -S "$2" ] || chown "$1" "$2"'


class _Login(NamedTuple):
    """Who logs in on a host, and the SHA-256 of the files that are delivered there, by path."""

    uid: int
    architecture: str
    home: str
    digests: dict[str, str]


class Ssh(Transport):
    """``host`` is what the user gives to ssh; ``config`` is another configuration file than theirs; ``root``: whether
    commands need root, which a login of another user becomes by ``sudo -n``.
    """

    def __init__(self, host: str, config: str = "", root: str = "yes") -> None:
        self._host = host
        self._config = config or os.environ.get("LOADSTONE_SSH_CONFIG", "")
        self._root = root == "yes"
        self._login: _Login | None = None

    def command(self, argv: Sequence[str]) -> list[str]:
        if self._login is None:
            self._look()
        return self._ssh([*self._become(), *argv])

    def deliver(self, program: Path) -> str:
        delivery = Delivery(program)
        login = self._look(delivery.file)
        if (wanted := delivery.architecture) != login.architecture:
            raise PreflightError(
                f"{self._host} is a machine of {login.architecture}, but {program} is built for {wanted}",
                "build stone for it (GOARCH=arm64 or amd64) and name the file in LOADSTONE_STONE"
                if program.name == "stone"
                else f"use hosts of {wanted}, as this machine is",
            )
        folder = ROOTS_FOLDER if self._as_root() else f"{login.home}/{USERS_FOLDER}"
        if login.digests.get(f"{folder}/{delivery.file}") != delivery.digest:
            purpose = f"{program.name} cannot be copied there"
            self._run([*self._become(), *delivery.script(folder)], purpose, program)
        return f"{folder}/{delivery.file}"

    def socket(self, path: str) -> str:
        """Forwarded over the connection that all share; the master removes a file that an earlier one has left."""
        known_by = hashlib.sha256(f"{self._config} {self._host} {path}".encode()).hexdigest()[:16]
        local = sockets() / f"{known_by}.sock"
        # ssh connects to it as the login user, who may lack permission. The first command opens the connection.
        login = self._login or self._look()
        self._run([*self._become(), "sh", "-c", _OPEN, "open", str(login.uid), path], "its login runs no commands")
        forward = [*self._options(), "-O", "forward", "-L", f"{local}:{path}", "--", self._host]
        done = self._in_time(forward, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            message, remedy = self.explain(done.stderr)
            raise MachineLost(f"{self._host}: {path} cannot be reached: {message}", remedy)
        return str(local)

    def explain(self, complaint: str) -> tuple[str, str]:
        lines = [line.strip() for line in complaint.splitlines() if line.strip()]
        if not lines:
            return "its node, or the connection to it, ended without a word", _UNRELIABLE.replace("HOST", self._host)
        for pattern, message, remedy in _EXPLANATIONS:
            if found := next(filter(None, (re.search(pattern, line) for line in reversed(lines))), None):
                return message.format(line=found.string), found.expand(remedy).replace("HOST", self._host)
        return super().explain("\n".join(lines))

    def close(self) -> None:
        # Other processes of this user may share the connection: it ends with its last command.
        with contextlib.suppress(MachineLost):
            self._in_time([*self._options(), "-O", "stop", "--", self._host], stdin=subprocess.DEVNULL)

    def disconnect(self) -> None:
        """End the connection at once, with all that runs over it, also what a desk that was killed has left."""
        with contextlib.suppress(MachineLost):
            self._in_time([*self._options(), "-O", "exit", "--", self._host], stdin=subprocess.DEVNULL)

    def _as_root(self) -> bool:
        return self._login is not None and (self._root or self._login.uid == 0)

    def _become(self) -> list[str]:
        return ["sudo", "-n", "--"] if self._login is not None and self._root and self._login.uid != 0 else []

    def _look(self, file: str = "none") -> _Login:
        """Who the login is, and what was delivered before. Raises PreflightError where it needs root and is not."""
        command = ["sh", "-c", _LOOK, "look", file]
        answer = self._run(command, "its login runs no commands")
        try:
            uid, machine, home, rights, *sums = answer.splitlines()
            digests = {path: digest for digest, path in (line.split(None, 1) for line in sums)}
            login = _Login(int(uid), architecture(machine), home, digests)
        except ValueError:
            raise PreflightError(
                f"{self._host}: its login writes of its own accord: {answer[:80]!r}",
                "let what the login starts (.bashrc, .profile) write only where a terminal is",
            ) from None
        if self._root and login.uid != 0 and rights != _MAY:
            raise PreflightError(
                f"{self._host}: root is needed, and the login may not become it without a password: {rights}",
                "log in as root, or let the login run any command by sudo without a password (NOPASSWD: ALL)",
            )
        self._login = login
        return login

    def _run(self, argv: Sequence[str], trouble: str, given: Path | None = None) -> str:
        """What a command there prints; raises MachineLost where ssh failed, PreflightError with its complaint."""
        within_s = subprocesses.time_to_copy(given) if given is not None else subprocesses.QUICK_S
        with open(given or os.devnull, "rb") as stdin:
            done = self._in_time(self._ssh(argv), within_s, stdin=stdin)
        if done.returncode == _FAILED:
            message, remedy = self.explain(done.stderr)
            raise MachineLost(f"{self._host}: {message}", remedy)
        if done.returncode != 0:
            complaint = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
            raise PreflightError(f"{self._host}: {trouble}: {complaint}")
        return done.stdout

    def _in_time(self, *args: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        """``_run_ssh``; a host that takes too long is taken for lost."""
        try:
            return _run_ssh(*args, **options)
        except subprocesses.OutOfTime as error:
            raise MachineLost(f"{self._host}: {error}") from None

    def _ssh(self, argv: Sequence[str]) -> list[str]:
        return [*self._options(), "-T", "--", self._host, shlex.join(argv)]

    def _options(self) -> list[str]:
        known_by = hashlib.sha256(self._config.encode()).hexdigest()[:8]
        settings = {
            "BatchMode": "yes",
            **PATIENCE,
            "ControlMaster": "auto",
            "ControlPath": sockets() / f"{known_by}-%C",
            "ControlPersist": _PERSIST_S,
            "StreamLocalBindUnlink": "yes",
        }
        file = ["-F", self._config] if self._config else []
        return ["ssh", *file, *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]


def settings(host: str, config: str | None) -> dict[str, str]:
    """What ssh does for a host, by keyword (ssh_config(5)). Raises PreflightError with what it says against it."""
    done = _run_ssh(["ssh", *(["-F", config] if config else []), "-G", "--", host])
    if done.returncode != 0:
        raise PreflightError(f"{host}: {done.stderr.strip()}", "correct the login, or the SSH configuration")
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)


def _run_ssh(*args: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """``subprocesses.run``; raises PreflightError where there is no ssh."""
    try:
        return subprocesses.run(*args, **options)
    except FileNotFoundError:
        raise PreflightError("ssh is not installed on this machine", "sudo apt-get install -y openssh-client") from None


def quoted(path: Path | str) -> str:
    """A path as a configuration of ssh has it, whatever is in it."""
    escaped = str(path).replace("\\", r"\\").replace('"', r"\"").replace("%", "%%")
    return f'"{escaped}"'


_UNRELIABLE = "see that it runs, and that the network to it loses little: `ping HOST`"
_LONGEST_FOLDER = 36
"""Bytes."""


def sockets() -> Path:
    """A folder of ours alone, with a short path: a socket's has at most 108 bytes, and its name up to 70 of them.

    Without blanks, percent signs and colons, to which ssh gives meanings of its own.
    """
    places = [Path(place, f"loadstone-ssh-{os.geteuid()}") for place in (tempfile.gettempdir(), "/tmp")]
    suits = (len(bytes(place)) <= _LONGEST_FOLDER and not re.search(r"[^\w./+-]", str(place)) for place in places)
    folder = next(itertools.compress(places, suits), places[-1])
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise PreflightError(f"{folder} is not a folder of this user alone", "remove it")
    return folder
