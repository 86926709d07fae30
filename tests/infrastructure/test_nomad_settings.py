"""How Nomad's and Consul's agents are configured, and who may read their tokens; ``test_nomad_real.py`` starts them."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.software import nomad as software
from loadstone.infrastructure.software.base import Member
from loadstone.infrastructure.software.nomad import Nomad, api, credentials
from loadstone.infrastructure.software.nomad.credentials import Secrets
from loadstone.infrastructure.software.nomad.settings import Configuration
from loadstone.model.cluster import Role
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.deployments import Begun, NodeDeployment
from tests.infrastructure.answering import answering


def member(name: str, role: Role, address: str) -> Member:
    """A member whose machine knows a deployment, and nothing else."""
    folder, group = f"/data/{name}", f"loadstone/{name}-abc"
    begun = Begun(folder=folder, user="", group=group, unlimited_because="")
    known = NodeDeployment(deployment="d", digest="d", owner="o", folder=folder, group=group, processes=())
    machine = SimpleNamespace(begin=lambda *_: begun, deployment=lambda _: known)
    return Member(name, role, address, cast(Machine, machine), "d")


MANAGERS = [member(f"manager-{number}", "manager", f"198.18.0.{number + 1}") for number in (1, 2, 3)]
WORKER = member("worker-1", "worker", "198.18.0.5")
SECRETS = Secrets()
THREE = Configuration([manager.address for manager in MANAGERS], SECRETS)


def test_consul_is_a_server_on_managers_and_listens_to_nomad_alone_on_workers() -> None:
    manager, worker = THREE.consul(MANAGERS[0]), THREE.consul(WORKER)
    assert (manager["server"], manager["bootstrap_expect"]) == (True, 3)
    assert "server" not in worker
    assert (worker["node_name"], worker["bind_addr"], worker["client_addr"]) == ("worker-1", "198.18.0.5", "127.0.0.1")
    assert manager["client_addr"] == "127.0.0.1 198.18.0.2"
    assert worker["retry_join"] == ["198.18.0.2", "198.18.0.3", "198.18.0.4"]


def test_nomad_s_servers_wait_for_each_other_and_fill_nodes_evenly() -> None:
    server = THREE.server(MANAGERS[1])
    assert server["server"]["bootstrap_expect"] == 3 and server["bind_addr"] == "198.18.0.3"
    assert server["server"]["default_scheduler_config"] == {"scheduler_algorithm": "spread"}
    assert "client" not in server


def test_raft_waits_longer_where_servers_share_cores() -> None:
    alone = Configuration([MANAGERS[0].address], SECRETS)
    assert [cluster.server(MANAGERS[0])["server"]["raft_multiplier"] for cluster in (alone, THREE)] == [1, 3]
    assert [cluster.consul(MANAGERS[0])["performance"]["raft_multiplier"] for cluster in (alone, THREE)] == [1, 3]


def test_a_core_counts_a_thousand_and_the_docker_driver_alone_is_allowed() -> None:
    client = THREE.client(WORKER, 3, "unix:///data/worker-1/docker.sock")
    assert client["client"]["cpu_total_compute"] == 3000
    assert client["client"]["options"]["driver.allowlist"] == "docker"
    assert client["client"]["cgroup_parent"] == "/loadstone/worker-1-abc/allocations"
    assert '"^198[.]18[.]0[.]5(/|$)"' in client["client"]["network_interface"]
    assert client["plugin"]["docker"]["config"]["endpoint"] == "unix:///data/worker-1/docker.sock"
    assert "server" not in client and client["name"] == "worker-1"


def test_containers_get_no_folder_of_the_host() -> None:
    config = THREE.client(WORKER, 3, "unix:///docker.sock")["plugin"]["docker"]["config"]
    assert set(config) == {"endpoint", "gc"}, "volumes and privileged containers are disabled by default"


def test_a_request_without_a_token_is_denied() -> None:
    for settings in (THREE.consul(MANAGERS[0]), THREE.consul(WORKER)):
        assert settings["acl"]["enabled"] and settings["acl"]["default_policy"] == "deny"
    for settings in (THREE.server(MANAGERS[0]), THREE.client(WORKER, 1, "")):
        assert settings["acl"] == {"enabled": True}


def test_management_tokens_are_on_no_worker() -> None:
    on_worker = json.dumps([THREE.consul(WORKER), THREE.client(WORKER, 1, "")])
    assert SECRETS.agents in on_worker
    assert SECRETS.consul not in on_worker and SECRETS.nomad not in on_worker


def test_each_cluster_has_secrets_of_its_own_and_shows_none() -> None:
    first, second = vars(SECRETS), vars(Secrets())
    assert len({*first.values(), *second.values()}) == 10
    assert repr(SECRETS) == "Secrets()"


def access(extra: dict[str, str], address: str = "http://127.0.0.1:1") -> Access:
    return Access("nomad", (address,), extra=extra)


def test_the_desk_s_file_is_for_its_owner_and_for_a_shell(tmp_path: Path) -> None:
    file = credentials.save(tmp_path / "cluster", "http://198.18.0.2:4646", "http://198.18.0.2:8500", SECRETS)
    assert file.stat().st_mode & 0o777 == 0o600
    extra = api.extra(["http://198.18.0.2:8500"], "", 1000, str(file))
    assert credentials.load(access(extra)) == {
        "NOMAD_ADDR": "http://198.18.0.2:4646",
        "NOMAD_TOKEN": SECRETS.nomad,
        "CONSUL_HTTP_ADDR": "http://198.18.0.2:8500",
        "CONSUL_HTTP_TOKEN": SECRETS.consul,
    }
    shown = json.dumps(access(extra).as_data())
    assert not any(secret in shown for secret in vars(SECRETS).values()), "the journal and `up --json` have the path"


def test_a_cluster_of_the_user_s_has_the_tokens_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOMAD_TOKEN", "hunter2")
    with answering({"/v1/nodes": (200, [])}) as server:
        api.nomad_of(access(api.extra(["c"], "", 1000), server.address)).get("/v1/nodes")
    assert [headers["X-Nomad-Token"] for _, headers in server.received] == ["hunter2"]


def test_a_cluster_of_ours_has_its_own_token_whatever_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOMAD_TOKEN", "hunter2")
    file = credentials.save(tmp_path, "http://n", "http://c", SECRETS)
    extra = api.extra(["c"], "", 1000, str(file))
    with answering({"/v1/nodes": (403, "Permission denied")}) as server, pytest.raises(DeploymentError) as refused:
        api.nomad_of(access(extra, server.address)).get("/v1/nodes")
    assert [headers["X-Nomad-Token"] for _, headers in server.received] == [SECRETS.nomad]
    assert SECRETS.nomad not in str(refused.value) and "NOMAD_TOKEN" not in str(refused.value)


def test_a_file_that_is_gone_is_named() -> None:
    extra: dict[str, Any] = {"consul": "", "credentials": "/no/such/file"}
    with pytest.raises(DeploymentError, match=r"/no/such/file: No such file or directory\n  `loadstone down`"):
        credentials.load(access(extra))


def conflicts(machine: Any) -> list[str]:
    return [finding.message for finding in Nomad().conflicts([cast(Machine, machine)]) if finding.what == "nomad"]


def test_a_host_whose_ports_are_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(argv: list[str]) -> SimpleNamespace:
        return SimpleNamespace(code=subprocess.run(argv, check=False).returncode)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setattr(software, "PORTS", (port,))
        (message,) = conflicts(SimpleNamespace(name="worker-1", run=run))
        assert message == f"worker-1: something listens at one of the ports {port}, which Nomad or Consul would need"
    assert conflicts(SimpleNamespace(name="worker-1", run=run)) == []
