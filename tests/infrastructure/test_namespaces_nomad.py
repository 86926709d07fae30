"""How Nomad's and Consul's agents on emulated hosts are configured; ``test_nomad_real.py`` starts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.infrastructure.namespaces import nomad
from loadstone.infrastructure.namespaces.host import Host


def host(name: str, address: str) -> Host:
    return Host(name, address, f"/run/netns/{name}", Path("/data") / name, f"loadstone/cluster/{name}")


MANAGERS = [host(f"manager-{number}", f"198.18.0.{number + 1}") for number in (1, 2, 3)]
WORKER = host("worker-1", "198.18.0.5")


def test_consul_is_a_server_on_managers_and_listens_on_the_emulated_network_alone() -> None:
    manager = nomad.consul_settings(MANAGERS[0], MANAGERS)
    worker = nomad.consul_settings(WORKER, MANAGERS)
    assert (manager["server"], manager["bootstrap_expect"]) == (True, 3)
    assert "server" not in worker
    assert (worker["node_name"], worker["bind_addr"], worker["client_addr"]) == ("worker-1", "198.18.0.5", "198.18.0.5")
    assert worker["retry_join"] == ["198.18.0.2", "198.18.0.3", "198.18.0.4"]


def test_nomad_s_servers_wait_for_each_other_and_fill_nodes_evenly() -> None:
    server = nomad.server_settings(MANAGERS[1], MANAGERS)
    assert server["server"]["bootstrap_expect"] == 3 and server["bind_addr"] == "198.18.0.3"
    assert server["server"]["default_scheduler_config"] == {"scheduler_algorithm": "spread"}
    assert "client" not in server


def test_a_core_counts_a_thousand_and_no_driver_without_limits_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nomad, "_cores", lambda host: 3)
    client = nomad.client_settings(WORKER, MANAGERS)
    assert client["client"]["cpu_total_compute"] == 3000
    assert client["client"]["options"]["driver.allowlist"] == "docker"
    assert client["client"]["cgroup_parent"].startswith("/loadstone/cluster/worker-1/")
    assert client["plugin"]["docker"]["config"]["endpoint"] == "unix:///data/worker-1/docker.sock"
    assert "server" not in client and client["name"] == "worker-1"
