"""The connections of ssh that the tasks of a playbook share: each outlives its last task for a while, unless ended."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.machines import in_parallel, ssh
from loadstone.model.inventory import Inventory


@contextmanager
def shared(inventory: Inventory) -> Iterator[str]:
    """The prefix of a playbook's sockets, whose connections end with the block.

    By default Ansible names a connection by host, port and login alone: under another configuration of ssh the same
    name may be another machine.
    """
    own = prefix(inventory) + secrets.token_hex(3)
    try:
        yield own
    finally:
        close(own)


def prefix(inventory: Inventory) -> str:
    """The prefix of all sockets that were made under the inventory's configuration of ssh."""
    return hashlib.sha256(str(inventory.ssh.config).encode()).hexdigest()[:6]


def close(prefix: str) -> None:
    """End the connections whose sockets have a prefix, also those of a process that was killed."""

    def close_one(socket: str) -> None:
        subprocesses.run(["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", "--", "any"])

    in_parallel(close_one, sorted(map(str, ssh.sockets().glob(f"{prefix}*-*"))))
