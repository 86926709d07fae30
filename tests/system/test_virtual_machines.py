"""A study whose replicas run in a virtual machine, emulated where KVM does not work; and what is left of it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.infrastructure.qemu import guests, image
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.users import User

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.fixture
def person() -> Iterator[User]:
    if lacking := [*guests.missing(), *image.missing()]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        user = User(Path(name))
        shop = applications.shop()
        (user.home / "application.yaml").write_text(yaml.safe_dump(shop))
        settings = {"application": str(user.home / "application.yaml"), "environment": "vm", "vm": {"memory": "2GiB"}}
        study = docker_clusters.study("guests", "process", cluster={"infrastructure": "qemu"}, resources={}, **settings)
        study["load"]["rates"] = [2]
        (user.home / "study.yaml").write_text(yaml.safe_dump(study))
        yield user
        user.runs("down")
        running = subprocess.run(["pgrep", "-f", f"{guests.QEMU}.*{user.home}"], capture_output=True, check=False)
        assert running.stdout == b""


def test_replicas_run_in_a_virtual_machine(person: User) -> None:
    done = person.runs("run", "study.yaml", "--emulated-ok")
    (folder,) = person.home.glob("results/guests/*")
    (row,) = pq.read_table(folder / "trials.parquet").to_pylist()
    assert row["verdict"] == "held", done.stdout + done.stderr
    assert row["environment"] in ("vm", "vm (emulated)")
    audit = json.loads((folder / "trials" / row["trial_id"] / "audit.json").read_text())
    assert all(each["ok"] for each in audit), audit
    rows = {each["what"]: each["effective"] for each in audit}
    assert (rows["kernel"], rows["vcpus"], rows["vm memory"]) == ("a guest's", rows["vcpus"], "2GiB")
    assert rows["vm pinning"] == "none" and rows["files"] == "disk"


def test_a_study_that_is_killed_leaves_no_virtual_machine_after_down(person: User) -> None:
    process = person.starts("run", "study.yaml", "--emulated-ok")
    person.waits_until_a_trial_is_loaded(process, finished=0)
    process.kill()
    process.communicate(timeout=60)
    removed = person.runs("down")
    assert "emulated hosts" in removed.stdout, removed.stderr
