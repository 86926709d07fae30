"""Neighbours that disturb a real run: what is recorded of them, one that dies, one that is left."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from tests.support.clusters import folders
from tests.support.users import User
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.servers, pytest.mark.root, pytest.mark.timeout(900)]

STUDY = """\
version: 1
name: disturbed
application: docstore
load: {rates: [40], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 16}
trial: {warmup: 1s, duration: 5s, order: sequential}
"""
LEVELS = """\
cluster: {infrastructure: namespaces, workers: 2}
factors:
  interference:
    - off
    - {stressor: cpu, load: 50%, on: worker-2}
    - {stressor: hdd, on: worker-2}
"""


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def share(folder: Path, node: str) -> float:
    """What the application has of the processor time that it and its neighbour used on a node together."""
    mine = sum(reading["cpu_s"] for reading in read(folder, "usage.json") if reading["node"] == node)
    file = folder / "interference.json"
    others = [each for each in read(folder, file.name)["readings"] if each["node"] == node] if file.exists() else []
    assert mine > 0
    return float(mine / (mine + sum(each["cpu_s"] for each in others)))


@pytest.mark.long
@pytest.mark.clusters
def test_a_stressor_is_recorded_on_its_node_and_in_no_table_of_the_application() -> None:
    with folders() as home:
        user = User(home)
        (home / "study.yaml").write_text(STUDY + LEVELS)
        user.runs("run", "study.yaml", "--emulated-ok")
        [run] = home.glob("results/disturbed/*")
        rows = pq.read_table(run / "trials.parquet").to_pylist()
        assert len(rows) == 3
        assert_answered(*rows)
        found = {row["factor_interference"]: run / "trials" / row["trial_id"] for row in rows}
        quiet, cpu, hdd = found.values()
        assert list(found) == ["none", "cpu,load:50%,on:worker-2", "hdd,on:worker-2"]
        assert not (quiet / "interference.json").exists()
        for folder in (cpu, hdd):
            [stressor] = read(folder, "interference.json")["readings"]
            assert (stressor["node"], stressor["operations"] > 0, stressor["cpu_s"] > 0) == ("worker-2", True, True)
            assert set(read(folder, "observed.json")["replicas"]) == set(read(quiet, "observed.json")["replicas"])
        shares = [(share(folder, "worker-1"), share(folder, "worker-2")) for folder in (quiet, cpu, hdd)]
        assert [first for first, _ in shares] == [1, 1, 1] and shares[0][1] == 1
        assert shares[1][1] < 0.95 and shares[2][1] < 0.99, shares
        assert read(hdd, "interference.json")["readings"][0]["written"] > 2**20
        assert read(cpu, "interference.json")["readings"][0]["written"] == 0


def test_a_stressor_that_dies_makes_its_trial_invalid_and_no_other(tmp_path: Path) -> None:
    user = User(tmp_path)
    two = STUDY.replace("rates: [40]", "rates: [40, 41]") + "interference: {stressor: cpu, load: 10%}\n"
    (tmp_path / "study.yaml").write_text(two)
    process = user.starts("run", "study.yaml")
    try:
        user.waits_until_a_trial_is_loaded(process, finished=0)
        [stressor] = [each for each in psutil.process_iter() if _is_of(each, "disturbed")]
        os.kill(stressor.pid, signal.SIGKILL)
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 4, out + err
    [table] = tmp_path.glob("results/*/*/trials.parquet")
    first, second = pq.read_table(table).to_pylist()
    assert first["verdict"] == "invalid"
    assert_answered(second)
    [reason] = first["reasons"]
    assert reason.startswith("interference: stressor cpu on worker-1 was killed by SIGKILL")
    assert not any(_is_of(each, "disturbed") for each in psutil.process_iter())


def test_a_killed_run_leaves_its_stressor_to_down(tmp_path: Path) -> None:
    user = User(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY + "interference: {stressor: cpu, load: 10%}\n")
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    process.kill()
    process.wait()
    assert any(_is_of(each, "disturbed") for each in psutil.process_iter())
    assert "-neighbour (stressors on worker-1)" in user.runs("down").stdout
    assert not any(_is_of(each, "disturbed") for each in psutil.process_iter())


def _is_of(process: psutil.Process, study: str) -> bool:
    """Whether it is the stressor of a study, by the folder in its command line; workers have other names."""
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return bool(command) and command[0] == "stress-ng" and any(f"/{study}-" in part for part in command)
