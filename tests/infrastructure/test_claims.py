"""A host is one study's at a time: who else has it is named, and another refusal is not taken for that."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from loadstone.infrastructure import journal
from loadstone.infrastructure.hosts.claims import Claimed, claim
from loadstone.infrastructure.machines import Machine, NodeError
from loadstone.model.cluster import Reach
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.frames import Fault


class Refusing:
    """A machine that refuses every deployment for the same reason."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def begin(self, *_: object) -> None:
        raise NodeError("worker-1", self._fault)


@pytest.mark.parametrize(
    ("fault", "message", "remedy"),
    [
        (
            Fault(kind="refused", message="a deployment 'claim' with other settings", owner="theirs, by Ada at desk"),
            "worker-1: another study uses this host: theirs, by Ada at desk",
            "wait until it ends",
        ),
        (
            Fault(kind="refused", message="mkdir /var/lib/loadstone: read-only file system", remedy="log in as root"),
            "worker-1: mkdir /var/lib/loadstone: read-only file system",
            "log in as root",
        ),
    ],
)
def test_a_host_that_refuses_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: Fault, message: str, remedy: str
) -> None:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path))
    monkeypatch.setattr(Claimed, "machine", property(lambda _: cast(Machine, Refusing(fault))))
    host = Claimed(name="worker-1", role="worker", address="192.0.2.1", reach=Reach())
    with pytest.raises(DeploymentError) as refused:
        claim("a-study-cluster", "hosts", [host], "process")
    assert refused.value.message == message and refused.value.remedy.startswith(remedy)


class Claims:
    """A machine that takes every claim."""

    def begin(self, *_: object) -> None:
        pass


def test_a_host_that_was_lost_is_not_forgotten_where_other_hosts_are_claimed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path))
    monkeypatch.setattr(Claimed, "machine", property(lambda _: cast(Machine, Claims())))

    def host(name: str) -> Claimed:
        reach = Reach(transport="ssh", options={"host": name})
        return Claimed(name=name, role="worker", address="192.0.2.1", reach=reach)

    claim("a-study-cluster", "hosts", [host("worker-1"), host("worker-2")], "process")
    first = journal.load("a-study-cluster")
    claim("a-study-cluster", "hosts", [host("worker-2"), host("worker-3")], "process")  # it could not be given back
    now = journal.load("a-study-cluster")
    assert first is not None and now is not None and now.facts["token"] == first.facts["token"]
    assert [each["name"] for each in now.facts["hosts"]] == ["worker-2", "worker-3", "worker-1"]
