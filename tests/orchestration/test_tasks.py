"""Tasks and data folders, as every orchestrator tells a service of them."""

from __future__ import annotations

import pytest

from loadstone.model import yaml12
from loadstone.orchestration.process.commands import commands, symbolic_site
from tests.orchestration.rendered import ORCHESTRATORS, by_service, deployment

TASKS = {"payment": {"linpack": 300, "sleep": "50us"}, "order": {"keep": False}}
VOLUMES = {  # Nomad's are in the container's own layer
    "compose": "volumes:\n- target: /data\n  type: volume\n",
    "swarm": "volumes:\n- target: /data\n  type: volume\n",
    "kubernetes": "emptyDir: {}",
}


def test_parameters_are_the_application_s_unless_the_study_has_others() -> None:
    wanted = deployment("shop", "compose", tasks=TASKS)
    environments = {replica.service: replica.environment for replica in wanted.replicas if replica.stone}
    assert environments == {
        "user": {"STONE_TASK_LINPACK": "400"},
        "payment": {"STONE_TASK_LINPACK": "300", "STONE_TASK_SLEEP": "50000ns"},
        "order": {
            "STONE_TASK_LARGE_FILE": "2400000",
            "STONE_TASK_SMALL_FILE": "140",
            "STONE_TASK_SMALL_ROUNDS": "10",
            "STONE_TASK_SYNC": "false",
            "STONE_TASK_KEEP": "false",
            "STONE_DATA": "/data",
        },
    }


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_they_reach_the_services_in_containers(orchestrator: str) -> None:
    rendered = by_service(deployment("shop", orchestrator, tasks=TASKS), orchestrator)
    assert "50000ns" in rendered["payment"] and "STONE_DATA" in rendered["order"]
    for service in set(rendered) - {"order"}:
        assert "STONE_DATA" not in rendered[service]


@pytest.mark.parametrize("orchestrator", VOLUMES)
def test_only_a_service_with_data_has_a_volume(orchestrator: str) -> None:
    rendered = by_service(deployment("shop", orchestrator, tasks=TASKS), orchestrator)
    assert [service for service, text in rendered.items() if VOLUMES[orchestrator] in text] == ["order"]


def test_a_process_has_a_folder_of_its_own() -> None:
    wanted = deployment("shop", "process", scaling="horizontal")
    folders = {
        command.replica.name: command.data
        for command in commands(wanted, symbolic_site(wanted))
        if command.replica.service == "order"
    }
    assert folders == {"order-1": "DATA/order-1", "order-2": "DATA/order-2"}
    for command in commands(wanted, symbolic_site(wanted)):
        if command.replica.stone is not None:
            assert command.environment.get("STONE_DATA") == folders.get(command.replica.name)
            assert yaml12.dump(command.as_data())
