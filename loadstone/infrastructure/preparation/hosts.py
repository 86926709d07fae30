"""The hosts of an inventory as Ansible takes them, and who else reaches them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.infrastructure import desk, subprocesses
from loadstone.infrastructure.machines import in_parallel, ssh
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
            # Ansible's own ignores the configuration: machines of two studies have the same names.
            "ansible_control_path": str(_control(config, login)),
            "address": listed.address,
        }

    hosts = inventory.hosts.items()
    return {"all": {"hosts": dict(zip(inventory.hosts, in_parallel(variables, hosts), strict=True))}}


def disconnect(inventory: Inventory) -> None:
    """End Ansible's connections, also those of a process that was killed: each outlives its last task for a while."""
    config = inventory.ssh.config

    def end(host: tuple[str, InventoryHost]) -> None:
        login = host[1].login or host[0]
        if (control := _control(config, login)).exists():
            file = ["-F", config] if config else []
            subprocesses.run(["ssh", *file, "-o", f"ControlPath={control}", "-O", "exit", "--", login])

    in_parallel(end, inventory.hosts.items())


def _control(config: str | None, login: str) -> Path:
    """The socket of the connection to a host that Ansible's tasks share."""
    return ssh.sockets() / hashlib.sha256(f"ansible {config} {login}".encode()).hexdigest()[:16]


def others(software: Sequence[str], inventory: Inventory) -> list[str]:
    """The address of this machine if a study makes it reach the hosts by more than SSH, and it is none of them."""
    loads = not any("client" in host.roles for host in inventory.hosts.values())
    if not loads and not any(plugins.find("software", name).remote_api for name in software):
        return []
    hosts = [host.address for host in inventory.hosts.values()]
    address = desk.node(hosts[0]).address
    return [] if address in hosts else [address]
