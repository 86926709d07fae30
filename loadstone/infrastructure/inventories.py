"""The hosts of a study: of an inventory, or by the names that the user's SSH configuration has for them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from loadstone.infrastructure.machines import ssh
from loadstone.model.cluster import Cluster
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.inventory import Inventory, InventoryHost, SshOptions


def read(cluster: Cluster) -> Inventory:
    """The hosts that a study may use; raises InputError where there is no such file, or a name has no address."""
    if cluster.hosts is None:
        inventory = Document.read(Path(cluster.inventory or "hosts.yaml")).parse(Inventory)
        return inventory.model_copy(update={"ssh": ssh_options(inventory.ssh.config)})
    options = ssh_options()
    hosts = {name: InventoryHost(address=_address(name, options.config)) for name in cluster.hosts}
    found = Inventory(version=1, ssh=options, hosts=hosts)
    if wrong := [f"cluster.hosts: {path[-1]}: {message}" for path, message in found.findings()]:
        raise InputError("\n".join(wrong))
    return found


def ssh_options(config: str | None = None) -> SshOptions:
    """With the path of ``config``, else of ``$LOADSTONE_SSH_CONFIG``, from the root: the journal has it for ``down``,
    which may be started in any folder."""
    given = config or os.environ.get("LOADSTONE_SSH_CONFIG")
    if given and given != "none":  # which is ssh's word for no configuration at all
        given = os.path.abspath(os.path.expanduser(given))
    return SshOptions(config=given)


def _address(name: str, config: str | None) -> str:
    """The IPv4 address to which ``ssh`` would connect."""
    try:
        return socket.gethostbyname(ssh.settings(name, config)["hostname"])
    except OSError as error:
        raise InputError(
            f"cluster.hosts: {name} has no address: {error.strerror}; "
            "correct the name, or list it with its address in an inventory"
        ) from None
