from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadstone.infrastructure import desk
from loadstone.infrastructure.local import Local, by_neighbourhood
from loadstone.infrastructure.machines import this_machine
from loadstone.model.cluster import Cluster
from loadstone.model.errors import InputError


def levels(local: Local) -> dict[str, str]:
    return {finding.what: finding.level for finding in local.preflight("process", 0)}


def with_facts(monkeypatch: pytest.MonkeyPatch, **others: object) -> Local:
    facts = this_machine().facts().model_copy(update={"cpu_limit": None, "memory_limit": None, **others})
    monkeypatch.setattr(Local, "_facts", facts)
    return Local(Cluster())


def test_this_machine() -> None:
    local = Local(Cluster())
    client, worker = local.sketch("process", 0)
    assert (client.role, worker.role) == ("client", "worker")
    assert set(client.cpus) | set(worker.cpus) == os.sched_getaffinity(0)
    assert worker.memory >= 2**28
    assert not worker.emulated
    assert "error" not in levels(local).values()
    local.release()
    local.release()


def test_one_core_is_shared_and_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    local = with_facts(monkeypatch, cpus=(3,))
    client, worker = local.sketch("process", 0)
    assert client.cpus == worker.cpus == (3,)
    assert client.shared and worker.shared
    assert levels(local)["cores"] == "warning"


def test_the_limits_of_the_session_are_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    local = with_facts(monkeypatch, cpus=(0, 1, 2, 3), cpu_limit=1.5, memory_limit=100 * 2**20 + 5)
    assert [node.memory for node in local.sketch("process", 0)] == [100 * 2**20] * 2
    assert levels(local)["cpu quota"] == "warning"
    assert levels(local)["memory"] == "warning"


def test_several_workers_name_the_infrastructure_that_will_have_them() -> None:
    assert list(Local.objections(Cluster())) == []
    ((where, message),) = Local.objections(Cluster(workers=3))
    assert where == ("workers",) and "1 worker, not 3" in message and "infrastructure: namespaces" in message


def test_managers_are_refused() -> None:
    with pytest.raises(InputError, match=r"no managers, but the study sets managers: 3; set cluster.managers: 0"):
        Local(Cluster()).sketch("process", 3)


def test_hardware_threads_of_one_core_come_together(tmp_path: Path) -> None:
    for core, physical in enumerate([0, 1, 0, 1]):  # threads 0 and 2 are one core, 1 and 3 the other
        topology = tmp_path / f"cpu{core}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text("0\n")
        (topology / "core_id").write_text(f"{physical}\n")
    assert by_neighbourhood((0, 1, 2, 3), tmp_path) == (0, 2, 1, 3)
    assert by_neighbourhood((1, 0), tmp_path / "absent") == (0, 1)


def test_a_user_without_a_name_is_called_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    for number in ("getuid", "geteuid"):
        monkeypatch.setattr(os, number, lambda: 2_000_000_001)
    assert desk.user() == "2000000001"


def test_users_are_named_by_what_has_a_number_for_all() -> None:
    files = (Path(desk.__file__).parents[1]).rglob("*.py")
    users = [file.name for file in files if "getpass.getuser" in file.read_text(encoding="utf-8")]
    assert users == ["desk.py"], "use desk.user"
