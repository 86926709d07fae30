"""The files of ``loadstone render --infrastructure ansible``: playbooks, roles, and an inventory to fill in."""

from __future__ import annotations

from loadstone.infrastructure.machine_files import MachineNeeds
from loadstone.infrastructure.preparation.playing import PLAYBOOKS

_GROUPS = {"manager": "managers", "worker": "workers", "client": "clients"}
_INVENTORY = """\
# The machines of the study {study}. Correct the addresses: ansible_host is where ssh logs in,
# address is the machine's own in the network that all of them share.
all:
  vars:
    ansible_user: root # or a login that may use sudo without a password
    prepare_for: [{software}]
    entry_ports: [{ports}]
  children:
{groups}"""


def render(needs: MachineNeeds) -> dict[str, str]:
    """Texts by file name. ``inventory.yaml`` is the study's own; the others are what ``loadstone prepare`` runs."""
    files = (file for file in sorted(PLAYBOOKS.rglob("*")) if file.is_file() and "__pycache__" not in file.parts)
    shared = {str(file.relative_to(PLAYBOOKS)): file.read_text(encoding="utf-8") for file in files}
    return {"inventory.yaml": _inventory(needs), **shared}


def _inventory(needs: MachineNeeds) -> str:
    groups: dict[str, str] = {}
    for number, (name, role) in enumerate(needs.machines.items(), start=1):
        group = groups.setdefault(_GROUPS[role], f"    {_GROUPS[role]}:\n      hosts:\n")
        host = f"        {name}: {{ansible_host: 192.0.2.{number}, address: 192.0.2.{number}, role: {role}}}\n"
        groups[_GROUPS[role]] = group + host
    return _INVENTORY.format(
        study=needs.study,
        software=", ".join(needs.software),
        ports=", ".join(f"{port}/tcp" for port in needs.entry_ports),
        groups="".join(groups.values()),
    )
