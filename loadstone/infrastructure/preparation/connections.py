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
def of_a_play(inventory: Inventory) -> Iterator[str]:
    """What the names of a play's sockets begin with; they end with it.

    By default Ansible names a connection by host, port and login alone: under another configuration of ssh the same
    name may be another machine.
    """
    beginning = of_all_plays(inventory) + secrets.token_hex(3)
    try:
        yield beginning
    finally:
        end(beginning)


def of_all_plays(inventory: Inventory) -> str:
    """What the names of all begin with that were made under the inventory's configuration of ssh."""
    return hashlib.sha256(str(inventory.ssh.config).encode()).hexdigest()[:6]


def end(beginning: str) -> None:
    """End those whose sockets' names begin so, also of a process that was killed."""

    def end_one(socket: str) -> None:
        subprocesses.run(["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", "--", "any"])

    in_parallel(end_one, sorted(map(str, ssh.sockets().glob(f"{beginning}*-*"))))
