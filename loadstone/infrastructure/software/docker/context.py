"""The Docker engine that the user's shell talks to: DOCKER_HOST, DOCKER_CONTEXT, or the context that `docker` uses."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from loadstone.infrastructure.desk import LOOPBACK
from loadstone.infrastructure.docker_api import Engine
from loadstone.model.cluster import Node, Reach
from loadstone.model.errors import PreflightError

_DEFAULT = "unix:///var/run/docker.sock"


def current() -> Engine:
    """The engine that `docker` would talk to now; raises PreflightError for a context that cannot be used."""
    if url := os.environ.get("DOCKER_HOST"):
        return Engine(url)
    settings = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    name = os.environ.get("DOCKER_CONTEXT") or _read(settings / "config.json").get("currentContext", "default")
    if name == "default":
        return Engine(_DEFAULT)
    identity = hashlib.sha256(name.encode()).hexdigest()  # what `docker` calls a context's folders
    context = _read(settings / "contexts" / "meta" / identity / "meta.json")
    if not context:
        raise PreflightError(f"there is no Docker context {name!r}", "`docker context ls` lists those there are")
    url = context["Endpoints"]["docker"]["Host"]
    certificates = settings / "contexts" / "tls" / identity / "docker"
    if certificates.is_dir():
        raise PreflightError(
            f"the Docker context {name!r} has certificates, which are not read from there",
            f"export DOCKER_HOST={url} DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH={certificates}",
        )
    return Engine(url)


def _read(file: Path) -> dict[str, Any]:
    """A file of Docker's settings; empty where there is none that can be read."""
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def node(name: str, engine: Engine, info: dict[str, Any]) -> Node:
    """The machine of an engine, as a worker; ``info``: what it reports of itself."""
    place = urlsplit(engine.url)
    near = place.scheme == "unix" or place.hostname in (LOOPBACK, "localhost")
    # A socket may lead into a virtual machine, whose kernel is another.
    here = near and info["KernelVersion"] == os.uname().release
    cores = _cores_of(place.path) if here and place.scheme == "unix" else ()
    return Node(
        name=name,
        role="worker",
        address=LOOPBACK if near else place.hostname or "",
        cpus=cores if len(cores) == info["NCPU"] else tuple(range(info["NCPU"])),
        memory=info["MemTotal"],
        shared=here,
        reach=Reach() if here else Reach(transport="exec", options={"software": "docker", "url": engine.url}),
    )


def _cores_of(path: str) -> tuple[int, ...]:
    """The cores of the process that made the socket: the engine, or the init system for it. It may be held to some."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return tuple(sorted(os.sched_getaffinity(pid))) if pid > 0 else ()
