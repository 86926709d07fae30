"""The target of a health check, where it can be recognised: an HTTP path, or a port that must accept connections."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from urllib.parse import urlsplit

_HERE = ("localhost", "127.0.0.1", "0.0.0.0", "::1")
_PINGS = {
    "pg_isready", "redis-cli", "valkey-cli", "mysqladmin", "mariadb-admin", "healthcheck.sh", "mongo", "mongosh",
    "cqlsh", "nodetool",
}  # fmt: skip
_ENDING = re.compile(r"\|\|\s*(exit\s+\d+|false)\s*$")
_URL = re.compile(r"""(?:https?|tcp)://[^\s"'|&;<>()]+""")
_DEVICE = re.compile(r"/dev/tcp/([^/\s]+)/([0-9]+)")
_NETCAT = re.compile(r"\b(?:nc|ncat|netcat)\s(?:-\S+\s+)*(\S+)\s+([0-9]+)")


@dataclass(frozen=True)
class HealthTarget:
    """A port by its number, None for the service's first one, and a path where HTTP is spoken."""

    port: int | None
    http: str | None = None
    exactly: bool = True
    """Whether the check does nothing else; else it only begins with this."""


def understood(test: list[str] | str, names: set[str]) -> HealthTarget | None:
    """The target of a compose file's ``test`` of a container with any of ``names``; None where it is not recognised."""
    command = test if isinstance(test, str) else " ".join(test[1:] if test[:1] in (["CMD"], ["CMD-SHELL"]) else test)
    command = _ENDING.sub("", command)
    alone = not re.search(r"[|&;]", re.sub(_URL, "", command))
    here = {*_HERE, *names}
    if url := _URL.search(command):
        try:
            parts = urlsplit(url.group())
            host, port = parts.hostname, parts.port
        except ValueError:
            return None
        if host not in here:
            return None
        number = port or {"http": 80, "https": 443}.get(parts.scheme)
        if parts.scheme != "http":
            return HealthTarget(number, exactly=alone and parts.scheme == "tcp")
        return HealthTarget(number, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), alone)
    for pattern in (_DEVICE, _NETCAT):
        if (found := pattern.search(command)) and found.group(1) in here:
            return HealthTarget(int(found.group(2)), exactly=alone)
    try:
        arguments = shlex.split(command)
    except ValueError:
        return None
    if arguments and arguments[0].rpartition("/")[2] in _PINGS:
        return HealthTarget(None, exactly=False)
    return None
