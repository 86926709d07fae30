"""Ports of deployments that start at the same time."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.infrastructure.local import Local
from loadstone.model.cluster import Cluster
from loadstone.orchestration import ports
from tests.orchestration.conftest import STORES, deployed, parse

CHOOSE = """
import sys
from loadstone.orchestration import ports
print(*(ports._take(int(port)) for port in sys.argv[1:]), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(ports, "_CLAIMS", {})


def test_what_another_has_chosen_is_not_chosen_until_that_one_ends() -> None:
    deployment = deployed(parse(STORES), Local(Cluster()).sketch("process", 0))
    preferred = {number for numbers in ports.preferred_ports(deployment).values() for number in numbers.values()}
    command = [sys.executable, "-c", CHOOSE, *map(str, preferred)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdin is not None
        theirs = {port for port, got in zip(preferred, other.stdout.readline().split(), strict=True) if got == "True"}
        assert theirs, "every preferred port is in use on this machine"
        mine = {number for numbers in ports.free_ports(deployment).values() for number in numbers.values()}
        assert len(mine) == len(preferred) and not mine & theirs
        other.stdin.close()
    assert all(ports._take(port) for port in theirs if ports.is_free(port))


def test_what_we_chose_ourselves_stays_ours_while_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not ports._take(port)
    assert ports._take(port) and ports._take(port)
