"""The ports of a deployment whose replicas share one address."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
from pathlib import Path

from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError

BASE_PORT = 20_000
"""Below the range that Linux hands out to outgoing connections (32768 and up)."""

Ports = dict[str, dict[str, int]]
"""Port numbers by replica and by the port's name."""


def preferred_ports(deployment: Deployment) -> Ports:
    """The ports of a deployment while none is taken: entry and stacks keep their own, others count up from the base."""
    ports: Ports = {}
    number = BASE_PORT
    for replica in deployment.replicas:
        ports[replica.name] = {}
        for name, declared in replica.ports.items():
            entry = replica.service == deployment.entry_service and name == deployment.entry_port
            if replica.stack or (entry and replica.index == 1):
                ports[replica.name][name] = declared
            else:
                ports[replica.name][name] = number
                number += 1
    return ports


def free_ports(deployment: Deployment) -> Ports:
    """The preferred ports, those that are taken now replaced by the next free ones above all of them.

    Raises DeploymentError for those of stacks: where they are is known to others before.
    """
    preferred = preferred_ports(deployment)
    for replica in deployment.replicas:
        for number in replica.ports.values() if replica.stack else ():
            if not is_free(number, deployment.node(replica.node).address):
                taken = f"{replica.service}: port {number} is taken by another program"
                raise DeploymentError(taken, "stop it, or leave the stack out")
    highest = max((number for ports in preferred.values() for number in ports.values()), default=BASE_PORT)
    spare = iter(number for number in range(highest + 1, 65_536) if _take(number))
    return {
        replica: {name: number if _take(number) else next(spare) for name, number in ports.items()}
        for replica, ports in preferred.items()
    }


def is_free(port: int, address: str = "127.0.0.1") -> bool:
    """Whether nobody on this machine listens on a port of an address; of none in particular: on any."""
    with socket.socket() as probe:
        # As servers do: a port whose old connections are only being wound up is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True


_CLAIMS: dict[int, int] = {}
"""Files by port that this process has locked."""


def _take(port: int) -> bool:
    """Whether a port is free and no other program like this one is about to use it; until we end it is ours then.

    Between choosing a port and listening on it lie seconds, in which another deployment may choose it too. A locked
    file for each port tells; a lock ends with its process, however that ends.
    """
    if port not in _CLAIMS:
        file = Path(tempfile.gettempdir(), "loadstone-ports", str(port))
        with contextlib.suppress(FileExistsError):
            file.parent.mkdir()
            file.parent.chmod(0o1777)
        with contextlib.suppress(FileExistsError):
            file.touch(0o644, exist_ok=False)
        lock = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        _CLAIMS[port] = lock
    return is_free(port)
