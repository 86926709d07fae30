"""Another application beside the measured one, really deployed and loaded: its own requests, its end, its removal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from tests.support.users import User, descendants, ours
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

STUDY = """\
version: 1
name: beside
application: docstore
load: {rates: [20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 4}
trial: {warmup: 1s, duration: 4s, order: sequential}
"""
BESIDE = "{application: docstore, workload: insert, rate: 25}"


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def test_it_is_loaded_through_the_window_and_is_in_no_table_of_the_first(user: User) -> None:
    (user.home / "study.yaml").write_text(STUDY + f"factors: {{interference: [off, {BESIDE}]}}\n")
    user.runs("run", "study.yaml")
    [run] = {table.resolve().parent for table in user.home.glob("results/*/*/trials.parquet")}
    rows = pq.read_table(run / "trials.parquet").to_pylist()
    assert_answered(*rows)
    quiet, beside = (run / "trials" / row["trial_id"] for row in rows)
    assert not (quiet / "interference.json").exists()
    found = read(beside, "interference.json")
    load, [used] = found["load"], found["readings"]
    assert (load["application"], load["workload"], load["rate"]) == ("docstore", "insert", 25)
    assert abs(load["window_s"] - 4) < 2 and abs(load["offered"] - 25 * load["window_s"]) <= 1
    assert load["completed"] > 0.5 * load["offered"] and 0 < load["p50_ms"] <= load["p99_ms"]
    assert (used["name"], used["node"]) == ("docstore", "worker-1") and used["cpu_s"] > 0 and used["memory"] > 0
    replicas = [set(read(folder, "observed.json")["replicas"]) for folder in (quiet, beside)]
    assert replicas[0] == replicas[1] == {row["replica"] for row in read(beside, "usage.json")}
    [check] = read(beside, "checks.json")
    assert check["ok"], "what the neighbour inserted is in a store of its own"
    text = (run / "report" / "tables" / "neighbour_requests.csv").read_text()
    assert text.count("docstore") >= 1
    assert ours(user.home) == []
    assert "nothing is running" in user.runs("down").stdout


@pytest.mark.parametrize("victim", ["replica", pytest.param("generator", marks=pytest.mark.long)])
def test_one_that_dies_makes_its_trial_invalid_and_no_other(user: User, victim: str) -> None:
    study = STUDY.replace("rates: [20]", "rates: [20, 21]").replace("duration: 4s", "duration: 8s")
    study = study.replace("p99: 10s", "p99: 4s").replace("timeout: 20s", "timeout: 5s")  # of what no one answers
    (user.home / "study.yaml").write_text(study + f"interference: {BESIDE}\n")
    process = user.starts("run", "study.yaml")
    try:
        user.waits_until_a_trial_is_loaded(process, finished=0)
        (chosen,) = _queue(process.pid) if victim == "replica" else descendants(process.pid, "neighbour/load.json")
        chosen.kill()
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 4, out + err
    [table] = user.home.glob("results/*/*/trials.parquet")
    first, second = pq.read_table(table).to_pylist()
    assert first["verdict"] == "invalid"
    assert_answered(second)
    [reason] = first["reasons"]
    expected = {
        "generator": "interference: the load generator of docstore was killed by SIGKILL",
        "replica": "interference: docstore: queue-1",
    }
    assert reason.startswith(expected[victim])
    assert ours(user.home) == []


def test_a_killed_run_leaves_it_to_down(user: User) -> None:
    (user.home / "study.yaml").write_text(STUDY + f"interference: {BESIDE}\n")
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    process.kill()
    process.wait()
    down = user.runs("down").stdout
    assert down.count("processes were running") == 2 and "-neighbour (2 of its 2 processes" in down
    assert ours(user.home) == []


def _queue(pid: int) -> list[psutil.Process]:
    """The queue of the neighbour: of two that look alike, that whose log is in the neighbour's folder."""
    alike = descendants(pid, "docstore/queue")
    return [each for each in alike if any("-neighbour-" in file.path for file in each.open_files())]
