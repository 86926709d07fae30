"""Which machines generate the load of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from loadstone.model.cluster import Node, Reach
from loadstone.model.load import Load
from loadstone.workloads import members as module
from loadstone.workloads.members import clients_needed, members, shortage


class FakeMachine:
    """Answers what a load worker's command is made from."""

    stone = "/opt/stone"

    def __init__(self, name: str) -> None:
        self._name = name

    def facts(self, _programs: Sequence[str]) -> Any:
        return SimpleNamespace(tools={"taskset": "/bin/taskset"})

    def command(self, argv: Sequence[str]) -> list[str]:
        return ["ssh", self._name, *argv]


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[Node]]:
    """Makes so many clients that are reached by SSH."""
    monkeypatch.setattr(module, "connect", lambda name, _reach: FakeMachine(name))
    elsewhere = Reach(transport="ssh")
    return lambda count: [
        Node(name=f"client-{n + 1}", role="client", address="10.0.0.1", cpus=(0, 1), memory=1, reach=elsewhere)
        for n in range(count)
    ]


def load(**keys: Any) -> Load:
    return Load.model_validate({"slo": {"p99": "1s"}, **keys})


@pytest.mark.parametrize(
    ("keys", "needed"),
    [
        ({"rates": [100, 20_000]}, 1),
        ({"rates": [100, 20_001]}, 2),
        ({"rates": [90_000], "threads": 2}, 3),
        ({"rates": [15_000], "arrival": {"process": "poisson", "shape": [{"for": "9s", "from": 1, "to": 3}]}}, 3),
        ({"rates": [15_000], "arrival": {"process": "on-off", "on": "1s", "off": "2s"}}, 3),
        ({"closed": {"clients": [9], "pace": 50_000}}, 3),
        ({"closed": {"clients": [9]}}, None),
        ({"capacity": {"slo": {"p99": "1s"}}, "slo": None}, None),
        ({"rates": [90_000], "driver": "wrk2"}, 1),
    ],
)
def test_clients_that_a_rate_needs(keys: dict[str, Any], needed: int | None) -> None:
    assert clients_needed(load(**keys)) == needed


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({"rates": [100]}, ["client-1"]),
        ({"rates": [30_000]}, ["client-1", "client-2"]),
        ({"rates": [900_000]}, ["client-1", "client-2", "client-3"]),
        ({"capacity": {"slo": {"p99": "1s"}}, "slo": None}, ["client-1", "client-2", "client-3"]),
        ({"closed": {"clients": [9]}}, ["client-1", "client-2", "client-3"]),
        ({"rates": [900_000], "workers": 1}, ["client-1"]),
        ({"rates": [100], "workers": 2}, ["client-1", "client-2"]),
        ({"rates": [100], "workers": 4}, ["client-1/1", "client-1/2", "client-2", "client-3"]),
    ],
)
def test_load_workers_are_as_many_as_the_rate_needs_or_as_given(
    keys: dict[str, Any], names: list[str], clients: Callable[[int], list[Node]]
) -> None:
    made = members(load(**keys), clients(3))
    assert [member.name for member in made] == names
    assert all(member.command[:2] == ("ssh", member.name.partition("/")[0]) for member in made)


def test_this_machine_alone_needs_no_load_worker(clients: Callable[[int], list[Node]]) -> None:
    (here,) = (node.model_copy(update={"reach": Reach()}) for node in clients(1))
    assert members(load(rates=[900_000]), [here]) == ()
    assert members(load(rates=[10]), []) == ()
    assert len(members(load(rates=[10], workers=2), [here])) == 2


def test_a_shortage_names_rate_limit_and_machines() -> None:
    assert shortage(load(rates=[20_000]), 1) is None
    text = "50,000 requests/s need 3 client machines, at 20,000 requests/s each; there is 1"
    assert shortage(load(rates=[50_000]), 1) == text
    assert (shortage(load(rates=[50_000]), 2) or "").endswith("; there are 2")
    assert shortage(load(rates=[50_000], workers=1), 1) is None, "a number that is given is followed"
