"""The hosts of an inventory as Ansible takes them, and what else reaches them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from loadstone import plugins
from loadstone.infrastructure import desk
from loadstone.infrastructure.machines import in_parallel, ssh
from loadstone.model.inventory import Inventory, InventoryHost

_SETTINGS = "-o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=4"


def ansible_inventory(inventory: Inventory) -> dict[str, Any]:
    """Each host with the login and port that ssh would take; the login tells whether it is root's already."""
    config = inventory.ssh.config

    def variables(host: tuple[str, InventoryHost]) -> dict[str, dict[str, str]]:
        name, listed = host
        login = listed.login or name
        settings = ssh.settings(login, config)
        target = urlsplit(login).hostname if login.startswith("ssh://") else None
        found = {
            "ansible_host": target or login.rpartition("@")[2],
            "ansible_user": settings["user"],
            "ansible_port": settings["port"],
            "ansible_ssh_common_args": _SETTINGS + (f" -F {shlex.quote(config)}" if config else ""),
            "address": listed.address,
        }
        return {key: {"__ansible_unsafe": value} for key, value in found.items()}  # no templates, which run commands

    hosts = inventory.hosts.items()
    return {"all": {"hosts": dict(zip(inventory.hosts, in_parallel(variables, hosts), strict=True))}}


def roles_settings(
    software: Iterable[str], entry_ports: Iterable[int], inventory: Inventory, studies: bool = True
) -> dict[str, Any]:
    """Variables of the roles: what runs on the hosts, where requests enter, and what else reaches the ports of both.

    ``studies``: whether this machine starts any there.
    """
    names = sorted(software)
    return {
        "prepare_for": names,
        "entry_ports": [f"{port}/tcp" for port in sorted(entry_ports)],
        "others": _others(names, inventory) if studies else [],
    }


def _others(software: Sequence[str], inventory: Inventory) -> list[str]:
    """The address of this machine if a study makes it reach the hosts by more than SSH, and it is none of them."""
    loads = not any("client" in host.roles for host in inventory.hosts.values())
    if not loads and not any(plugins.find("software", name).remote_api for name in software):
        return []
    hosts = [host.address for host in inventory.hosts.values()]
    address = desk.address_towards(hosts[0])
    return [] if address in hosts else [address]
