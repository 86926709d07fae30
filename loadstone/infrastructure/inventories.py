"""The hosts of a study: of an inventory, or by the names that the user's SSH configuration has for them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.model.cluster import Cluster
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.inventory import Inventory, InventoryHost, SshOptions


def read(cluster: Cluster) -> Inventory:
    """The hosts that a study may use; raises InputError where there is no such file, or a name has no address."""
    if cluster.hosts is None:
        inventory = Document.read(Path(cluster.inventory or "hosts.yaml")).parse(Inventory)
        config = inventory.ssh.config or os.environ.get("LOADSTONE_SSH_CONFIG")
        return inventory.model_copy(update={"ssh": SshOptions(config=config)})
    config = os.environ.get("LOADSTONE_SSH_CONFIG")
    hosts = {name: InventoryHost(address=_address(name, config)) for name in cluster.hosts}
    return Inventory(version=1, ssh=SshOptions(config=config), hosts=hosts)


def _address(name: str, config: str | None) -> str:
    """The IPv4 address to which ``ssh`` would connect."""
    command = ["ssh", *(["-F", config] if config else []), "-G", "--", name]
    done = subprocesses.run(command)
    settings = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    try:
        return socket.gethostbyname(settings.get("hostname", name))
    except OSError as error:
        raise InputError(
            f"cluster.hosts: {name} has no address: {error.strerror}; "
            "correct the name, or list it with its address in an inventory"
        ) from None
