"""What hosts are prepared for: names of software, and files of studies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.experiments.preparing import settings_for
from loadstone.model.errors import InputError
from loadstone.model.inventory import Inventory, InventoryHost

ELSEWHERE, HERE = "127.0.0.2", "127.0.0.1"
"""A host that this machine reaches, and the address by which it does."""


def inventory(*roles: list[str], address: str = ELSEWHERE) -> Inventory:
    hosts = {f"node-{number}": InventoryHost(address=address, roles=each) for number, each in enumerate(roles)}
    return Inventory(hosts=hosts)


def study(folder: Path, orchestrator: str) -> str:
    file = folder / f"{orchestrator}.yaml"
    load: dict[str, Any] = {"rates": [1], "slo": {"p99": "1s"}}
    data = {"version": 1, "name": "small", "application": "hotel-reservation", "load": load}
    data |= {"orchestrator": orchestrator, "cluster": {"infrastructure": "namespaces"}}
    file.write_text(yaml.safe_dump(data))
    return str(file)


def test_software_by_its_name_opens_no_entry() -> None:
    settings = settings_for(["swarm", "process", "swarm"], inventory(["worker"]))
    assert settings == {"prepare_for": ["process", "swarm"], "entry_ports": [], "others": []}


def test_a_study_opens_its_entry_also_to_this_machine_if_it_makes_the_load(tmp_path: Path) -> None:
    settings = settings_for([study(tmp_path, "swarm")], inventory(["worker"]))
    assert settings == {"prepare_for": ["swarm"], "entry_ports": ["5000/tcp"], "others": [HERE]}
    assert settings_for([study(tmp_path, "swarm")], inventory(["worker"], address=HERE))["others"] == []
    assert settings_for([study(tmp_path, "swarm")], inventory(["worker"], ["client"]))["others"] == []


@pytest.mark.parametrize("orchestrator", ["nomad", "kubernetes"])
def test_an_api_is_opened_to_this_machine_also_if_clients_make_the_load(tmp_path: Path, orchestrator: str) -> None:
    settings = settings_for([study(tmp_path, orchestrator), "process"], inventory(["worker"], ["client"]))
    assert settings["prepare_for"] == sorted([orchestrator, "process"]) and settings["others"] == [HERE]


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(InputError, match=r"--for swram: no such software.*swarm"):
        settings_for(["swram"], inventory(["worker"]))
