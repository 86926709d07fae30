"""What hosts are prepared for: software by its name, or studies with the ports that they need opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.experiments.plan import read_plans
from loadstone.experiments.provisioning import machine_needs
from loadstone.infrastructure.preparation.hosts import roles_settings
from loadstone.model.base import did_you_mean
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.inventory import Inventory


def settings_for(wanted: Sequence[str], inventory: Inventory) -> dict[str, Any]:
    """Variables of the roles: what runs on the hosts, where requests enter, and what else reaches the ports of both.

    ``wanted``: names of software, and files of studies, all parts of which run there. Raises InputError for others.
    """
    software, entries, studies = set(), set(), False
    for name in wanted:
        if name in plugins.names("software"):
            software.add(name)
        elif Path(name).suffix in (".yaml", ".yml"):
            studies = True
            for plan in read_plans(Document.read(name)).values():
                needs = machine_needs(plan)
                software |= set(needs.software)
                entries |= set(needs.entry_ports)
        else:
            raise InputError(f"--for {name}: no such software" + did_you_mean(name, plugins.names("software")))
    return roles_settings(software, entries, inventory, studies)
