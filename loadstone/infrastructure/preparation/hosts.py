"""The hosts of an inventory as Ansible takes them."""

from __future__ import annotations

from typing import Any

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.machines import in_parallel
from loadstone.model.inventory import Inventory, InventoryHost

_SETTINGS = "-o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=4"


def ansible_inventory(inventory: Inventory) -> dict[str, Any]:
    """Each host with the login that ssh would take, which also tells whether it is root's already."""
    config = inventory.ssh.config

    def variables(host: tuple[str, InventoryHost]) -> dict[str, str]:
        name, listed = host
        login = listed.login or name
        done = subprocesses.run(["ssh", *(["-F", config] if config else []), "-G", "--", login])
        user = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line).get("user", "")
        return {
            "ansible_host": login.rpartition("@")[2],
            "ansible_user": user,
            "ansible_ssh_common_args": _SETTINGS + (f" -F {config}" if config else ""),
            "address": listed.address,
        }

    hosts = inventory.hosts.items()
    return {"all": {"hosts": dict(zip(inventory.hosts, in_parallel(variables, hosts), strict=True))}}
