"""Client machines of a plan: their number, those that are made, and the warning where there are too few."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.cli.plan_summary import load_summary
from loadstone.experiments import client_machines
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import infrastructure_of, machine_needs
from loadstone.model.cluster import Node
from tests.experiments.fakes import STUDY, write_study
from tests.support.plans import read_plan

FAST = STUDY.replace("[100, 200, 300]", "[100, 50000]")
HOSTS = """\
hosts:
  node-1: {address: 10.0.0.1}
  load-1: {address: 10.0.0.2, roles: [client]}
  load-2: {address: 10.0.0.3, roles: [client]}
  load-3: {address: 10.0.0.4, roles: [client]}
"""


def plan_of(folder: Path, text: str = FAST, **cluster: str) -> Plan:
    keys = ", ".join(f"{key}: {value}" for key, value in cluster.items())
    return read_plan(write_study(folder, text + (f"cluster: {{{keys}}}\n" if keys else "")))[1]


def test_a_plan_says_how_many_generate_the_load(tmp_path: Path) -> None:
    assert load_summary(plan_of(tmp_path)).endswith("completed, from 3 client machines")
    assert load_summary(plan_of(tmp_path, STUDY)).endswith("completed")
    given = plan_of(tmp_path, FAST.replace("slo:", "workers: 2, slo:"))
    assert load_summary(given).endswith(", from 2 load workers")
    assert given.as_data()["load_workers"] == 2 and plan_of(tmp_path).as_data()["load_workers"] == 3


@pytest.mark.parametrize(
    ("traces", "text", "receivers"),
    [
        ("{sample: 10%}", FAST, 3),  # 50,000 requests/s x 10 % x 22 services x 2 spans
        ("{sample: 1%}", FAST, 1),
        ("{sample: 10%, receivers: 2}", FAST, 2),
        ("{}", STUDY, 1),
        ("{}", FAST, 22),
    ],
)
def test_spans_have_as_many_receivers_as_the_highest_rate_needs(
    tmp_path: Path, traces: str, text: str, receivers: int
) -> None:
    text = text.replace("./application.yaml", "hotel-reservation")
    plan = plan_of(tmp_path, f"{text}traces: {traces}\n")
    (found,) = {treatment.settings.traces for treatment in plan.treatments}
    assert found is not None and found.receivers == receivers


def test_too_few_client_machines_are_a_warning_at_the_rates(tmp_path: Path) -> None:
    (note,) = plan_of(tmp_path).notes
    assert "load.rates" in str(note) and "need 3 client machines" in str(note) and "there is 1" in str(note)
    assert plan_of(tmp_path, STUDY).notes == ()
    inventory = tmp_path / "hosts.yaml"
    inventory.write_text(HOSTS)
    assert plan_of(tmp_path, infrastructure="hosts", inventory=str(inventory)).notes == ()
    inventory.write_text("\n".join(HOSTS.splitlines()[:-1]) + "\n")
    (note,) = plan_of(tmp_path, infrastructure="hosts", inventory=str(inventory)).notes
    assert "there are 2" in str(note)


def test_machines_that_are_made_are_enough(tmp_path: Path) -> None:
    made = plan_of(tmp_path, infrastructure="vagrant", instances="{cpus: 4}")
    (cluster,) = {own.study.cluster.model_dump_json() for own in made.own}
    assert '"clients":3' in cluster and made.notes == ()
    assert (machine_needs(made).clients, machine_needs(made).entry_ports) == (3, (5000,))
    terms = infrastructure_of(made.study.cluster, "plan").terms(0)
    assert terms is not None and terms.machines == 4
    (note,) = plan_of(tmp_path, infrastructure="vagrant", instances="{clients: 2}").notes
    assert "there are 2" in str(note)


@pytest.mark.parametrize(("clients", "warnings"), [(1, 1), (3, 0)])
def test_clients_of_a_cluster_that_was_there_are_counted_once_its_nodes_are_known(
    clients: int, warnings: int, tmp_path: Path
) -> None:
    plan = plan_of(tmp_path, FAST + "orchestrator: swarm\n", infrastructure="existing")
    node = Node(name="client", role="client", address="127.0.0.1", cpus=(0,), memory=1)
    found = client_machines.findings(plan.study, [node] * clients)
    assert plan.notes == () and [each.level for each in found] == ["warning"] * warnings
