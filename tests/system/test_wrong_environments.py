"""Real runs in another environment than their study says: the trial is invalid, and its reasons say what was wrong."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.infrastructure.machines import this_machine
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.users import LOADSTONE, User

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.timeout(900)]

IN_MEMORY = Path("/dev/shm")
INVALID = 4


def write(user: User, name: str, application: dict[str, Any], **settings: Any) -> None:
    (user.home / "application.yaml").write_text(yaml.safe_dump(application))
    study = docker_clusters.study("wrong", "process", application="application.yaml", **settings)
    study["resources"] = applications.limits(application)
    (user.home / "study.yaml").write_text(yaml.safe_dump(study | {"name": name}))


def reasons(user: User) -> list[str]:
    """Why the only trial is invalid."""
    [table] = user.home.glob("results/*/*/trials.parquet")
    [row] = pq.read_table(table).to_pylist()
    assert row["verdict"] == "invalid"
    return list(row["reasons"])


def test_files_in_memory_are_on_no_disk() -> None:
    if not IN_MEMORY.is_mount():
        pytest.skip(f"{IN_MEMORY} is no file system of its own")
    with tempfile.TemporaryDirectory(prefix="loadstone-", dir=IN_MEMORY) as name:
        user = User(Path(name))
        user.home.chmod(0o755)
        user.environment["LOADSTONE_DATA"] = f"{name}/data"
        write(user, "in-memory", applications.shop())
        user.runs("run", "study.yaml", expect=INVALID)
        wanted = f"audit: order-1 on worker-1 has files memory (tmpfs at {IN_MEMORY}), requested disk"
        assert reasons(user) == [wanted]
        assert "nothing is running" in user.runs("down").stdout


def test_what_runs_in_a_container_is_not_bare(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    user, guest = User(tmp_path), this_machine().facts().hypervisor.present
    declared = {"machine": "vm"} if guest else {}
    write(user, "bare", applications.patient("docstore"), environment="bare", cluster=declared)
    command = ["unshare", "--pid", "--fork", "--mount-proc", str(LOADSTONE), "run", "study.yaml"]
    done = subprocess.run(command, cwd=user.home, env=user.environment, capture_output=True, text=True, check=False)
    assert done.returncode == INVALID, done.stdout + done.stderr
    found, wanted = ("vm-container (guest given)", "vm (guest given)") if guest else ("container (given)", "bare")
    wrong = f"on worker-1 has environment {found}, requested {wanted}"
    assert reasons(user) == [f"audit: couchdb-1 {wrong}", f"audit: queue-1 {wrong}"]
    assert "nothing is running" in user.runs("down").stdout
