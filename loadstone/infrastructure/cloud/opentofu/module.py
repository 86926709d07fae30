"""Modules: one interface for all clouds. Each has these variables and the output ``machines``; ours are beside this."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.machine_files import MachineNeeds
from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError
from loadstone.model.instances import Instances

MODULES = Path(__file__).parent / "modules"
VALUES = "terraform.tfvars.json"
_README = """\
# Machines of {site} for {study}

    export ...                          # credentials, as the provider's documentation names them
    tofu init
    tofu apply -var "public_key=$(cat ~/.ssh/id_ed25519.pub)"
    tofu output -raw inventory > hosts.yaml
    loadstone run STUDY                 # in the study: cluster: {{infrastructure: hosts, inventory: hosts.yaml}}
    tofu destroy -var public_key=none

`terraform` takes the same files.
"""


def files(site: str) -> dict[str, str]:
    """The texts of a module, by file name. Raises InputError where there is none."""
    folder = MODULES / site if (MODULES / site).is_dir() else Path(site)
    found = {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.tf"))}
    if not found:
        ours = sorted(each.name for each in MODULES.iterdir() if each.is_dir())
        raise InputError(f"cluster.instances.site: no module {site!r}{did_you_mean(site, ours)}, or name its folder")
    return found


def values(names: Sequence[str], wanted: Instances, token: str, public_key: str | None) -> str:
    """The values of the variables, as JSON; those that were not given keep the module's defaults."""
    given = {
        "token": token,
        "machines": list(names),
        "public_key": public_key,
        "type": wanted.type,
        "image": wanted.image,
        "network": wanted.network,
    }
    return json.dumps({key: value for key, value in given.items() if value is not None}, indent=2) + "\n"


def render(needs: MachineNeeds) -> dict[str, str]:
    """The module, its values, and what to do with them."""
    wanted = needs.cluster.instances or Instances()
    site = wanted.site or "openstack"
    return {
        **files(site),
        VALUES: values(list(needs.machines), wanted, needs.study, None),
        "README.md": _README.format(site=site, study=needs.study),
    }
