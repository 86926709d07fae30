"""Bytes of nodes and between them: at the switch of emulated hosts, at the interfaces of real ones."""

from __future__ import annotations

from typing import Any

import pytest

from loadstone.analysis.metrics import network
from loadstone.analysis.metrics.network import BetweenUse, NetworkUse
from loadstone.analysis.metrics.windows import Value, WindowValues
from loadstone.model.records.observed import HOST, Observed, ObservedNode

KINDS = ("network_received_bytes_total", "network_transmitted_bytes_total")


def measured(counters: dict[tuple[str, str], tuple[float | None, float | None]]) -> WindowValues:
    """Received and sent bytes by recorder and subject in a window of 2 s."""
    values = {
        (node, subject, kind): Value(change, None, None, None)
        for (node, subject), both in counters.items()
        for kind, change in zip(KINDS, both, strict=True)
    }
    return WindowValues(2.0, values, {})


def nodes(recorded: bool = True, **roles: str) -> Observed:
    found = {name.replace("_", "-"): ObservedNode(role=role, recorded=recorded) for name, role in roles.items()}
    return Observed(nodes=found, replicas={})


def test_at_a_switch_what_a_port_received_its_host_sent() -> None:
    observed = nodes(False, worker_1="worker", worker_2="worker", manager_1="manager", client="client")
    found = network.network(
        observed,
        measured(
            {
                ("worker-1", "network:switch/uplink"): (200.0, 400.0),
                ("worker-1", "network:switch/worker-1"): (3000.0, 1200.0),
                ("worker-1", "network:switch/worker-2"): (1000.0, 2600.0),
                ("worker-1", "network:switch/manager-1"): (6.0, 10.0),
                ("worker-1", "network:switch/switch"): (1.0, 1.0),
            }
        ),
    )
    by_node = {row.node: row for row in found}
    assert set(by_node) == {"client", "worker-1", "worker-2", "manager-1"}
    assert by_node["worker-1"] == NetworkUse(
        node="worker-1", role="worker", received_bytes_per_s=600.0, sent_bytes_per_s=1500.0
    )
    between = network.between(found, 100.0, observed)
    # Workers sent 2000 a second; 200 of that came to the client, and 5 to the manager.
    assert between == BetweenUse(between_bytes_per_s=1795.0, between_bytes_per_request=17.95)


def test_the_host_of_virtual_machines_is_no_worker() -> None:
    observed = nodes(a="worker", b="worker", client="client")
    observed.nodes[HOST] = ObservedNode(recorded=True)
    counters = {(name, "interface:eth0"): (100.0, 100.0) for name in observed.nodes}
    found = network.network(observed, measured(counters))
    assert [row.node for row in found] == ["a", "b", "client"]
    both = BetweenUse(between_bytes_per_s=50.0, between_bytes_per_request=None)
    assert network.between(found, None, observed) == both


def test_real_nodes_count_at_what_leads_off_them() -> None:
    observed = nodes(a="worker", b="worker")
    found = network.network(
        observed,
        measured(
            {
                ("a", "interface:eth0"): (20.0, 40.0),
                ("a", "interface:docker0"): (7.0, 7.0),
                ("b", "interface:eno1"): (60.0, 80.0),
            }
        ),
    )
    assert [(row.node, row.received_bytes_per_s, row.sent_bytes_per_s) for row in found] == [
        ("a", 10.0, 20.0),
        ("b", 30.0, 40.0),
    ]
    assert network.between(found, 100.0, observed) is None, "the client was not seen"


def test_nodes_that_share_a_machine_without_a_switch_are_not_differ() -> None:
    shared = ObservedNode(role="worker", recorded=True, shared_by=("a", "b"))
    observed = Observed(nodes={"a": shared}, replicas={})
    assert network.network(observed, measured({("a", "interface:eth0"): (1.0, 1.0)})) == []


@pytest.mark.parametrize("missing", ["worker-1", "uplink"])
def test_a_counter_that_began_anew_leaves_no_sum(missing: str) -> None:
    ports = {"uplink": (2.0, 4.0), "worker-1": (30.0, 12.0), "worker-2": (10.0, 26.0)}
    counters: Any = {("w", f"network:switch/{port}"): both for port, both in (ports | {missing: (None, None)}).items()}
    observed = nodes(worker_1="worker", worker_2="worker", client="client")
    found = network.network(observed, measured(counters))
    assert network.between(found, 1.0, observed) is None


@pytest.mark.parametrize("missing", ["worker-3", "manager-1"])
def test_a_node_that_was_not_counted_leaves_no_sum(missing: str) -> None:
    observed = nodes(worker_1="worker", worker_2="worker", worker_3="worker", manager_1="manager", client="client")
    counters = {(name, "interface:eth0"): (10.0, 20.0) for name in observed.nodes if name != missing}
    assert network.between(network.network(observed, measured(counters)), 1.0, observed) is None
