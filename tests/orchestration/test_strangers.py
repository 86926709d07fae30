"""Another user of the machine tries the stores of a deployment of processes: nothing is read, written or run."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from loadstone.infrastructure import journal
from loadstone.orchestration.process import Process
from tests.orchestration.process_deployments import pid_of, start
from tests.support.strangers import as_stranger, refuse_a_stranger

pytestmark = [pytest.mark.servers, pytest.mark.root]


def test_a_stranger_runs_no_command_through_a_store(stores: Process) -> None:
    start(stores)
    assert refuse_a_stranger(stores) == 1
    host, _, port = stores.addresses("queue", "redis")[0].rpartition(":")
    assert "NOAUTH" in as_stranger("redis-cli", "-h", host, "-p", port, "CONFIG", "GET", "dir").stdout
    assert as_stranger("redis-cli", "-h", host, "-p", port, "PING", REDISCLI_AUTH=stores.password).stdout == "PONG\n"


def test_a_deployment_has_a_user_of_its_own(stores: Process) -> None:
    start(stores)
    processes = {name: psutil.Process(pid_of(stores, name)) for name in ("documents-1", "queue-1", "cache-1")}
    (user,) = {process.uids().real for process in processes.values()}
    assert user not in (0, 65534) and as_stranger("id", "-nu", str(user)).returncode != 0
    for process in processes.values():
        assert as_stranger("cat", f"/proc/{process.pid}/environ").returncode != 0


def test_the_password_is_out_of_a_stranger_s_reach(stores: Process, own_folders: Path) -> None:
    start(stores)
    password = stores.password
    assert len(password) > 20
    arguments = [word for process in psutil.process_iter(["cmdline"]) for word in process.info["cmdline"] or ()]
    assert not [word for word in arguments if password in word]
    readable = as_stranger("grep", "-rls", password, str(own_folders), str(journal.state_folder()))
    assert readable.stdout == ""
    assert not any(password in text for text in stores.logs().values())
