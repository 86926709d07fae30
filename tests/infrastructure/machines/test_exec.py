"""Machines behind a cluster's own client, which is a script here; test_agent_real.py has real clusters."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import Machine, MachineLost, exec
from loadstone.model.errors import PreflightError

KUBECTL = """
case " $* " in
*" get pods "*"spec.nodeName=worker-1,"*) echo pod/loadstone-agent-abcde ;;
*" get pods "*"spec.nodeName=worker-2,"*) ;;
*" get pods "*) echo "error: You must be logged in to the server" >&2; exit 1 ;;
*" --namespace hotel exec --stdin pod/loadstone-agent-abcde --container loadstone-agent -- /stone node --proc "*)
  echo "$KUBECONFIG" >&2; exec STONE node ;;
*) echo "not like this: $*" >&2; exit 1 ;;
esac
"""
NOMAD = """
case " $* " in
*" job allocs -address=http://lab:4646 -namespace=default -json loadstone-agent "*)
  echo '[{"ID": "a", "NodeName": "worker-1", "ClientStatus": "complete"},
         {"ID": "b", "NodeName": "worker-1", "ClientStatus": "running"}]' ;;
*" alloc exec -address=http://lab:4646 -namespace=default -i=true -t=false -task loadstone-agent b /stone node "*)
  exec STONE node ;;
*) echo "not like this: $*" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        stone = stone_binary()
    except PreflightError as error:
        pytest.skip(str(error))
    for name, script in (("kubectl", KUBECTL), ("nomad", NOMAD)):
        (tmp_path / name).write_text("#!/bin/sh" + script.replace("STONE", str(stone)))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)


def kubernetes(node: str) -> Machine:
    return Machine(
        node, exec.of_software("kubernetes", node=node, kubeconfig="/home/me/config", context="lab", namespace="hotel")
    )


def test_a_node_is_started_in_a_pod(clients: None) -> None:
    machine = kubernetes("worker-1")
    assert machine.clock().realtime_ns > 0
    node = machine.hello.pid
    with pytest.raises(MachineLost, match=r"worker-1: its node has ended \(killed by signal 9\)"):
        machine.run(["sh", "-c", "echo begun; sleep 60"], follow=lambda *_: os.kill(node, signal.SIGKILL))
    assert machine.clock().realtime_ns > 0, "the next verb starts another one"
    machine.close()


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ("worker-2", "worker-2: no pod of loadstone-agent runs there"),
        ("worker-3", "`kubectl .*failed: error: You must be logged in to the server"),
    ],
)
def test_a_pod_that_is_not_there_is_a_lost_machine(clients: None, node: str, why: str) -> None:
    with pytest.raises(MachineLost, match=why):
        kubernetes(node).clock()


def test_a_node_is_started_in_the_allocation_that_runs(clients: None) -> None:
    machine = Machine(
        "worker-1", exec.of_software("nomad", node="worker-1", address="http://lab:4646", job="loadstone-agent")
    )
    assert machine.clock().realtime_ns > 0
    machine.close()


def test_on_docker_the_container_is_the_node_s_own() -> None:
    command = exec.of_software("docker", url="ssh://lab", image="loadstone/stone:1").command(["/stone", "node", "--x"])
    assert command[:6] == ["docker", "--host", "ssh://lab", "run", "--rm", "--interactive"]
    mounts = {"--read-only", "--tmpfs=/tmp", "--volume=/proc:/host/proc:ro", "--volume=/sys:/host/sys:ro"}
    assert mounts | {"--cap-drop=ALL"} < set(command)
    assert command[-4:] == ["--entrypoint=/stone", "loadstone/stone:1", "node", "--x"]
