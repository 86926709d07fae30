"""Studies of the docstore on processes: inserts over HTTP, reads over ZeroMQ, one at a time and several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.users import User

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

STUDY = """\
version: 1
name: documents
application: docstore
SETTINGS
traces: {sample: 1}
load: {closed: {clients: CLIENTS}, timeout: 20s, lateness: 10s}
trial: {warmup: 1s, duration: 3s, order: sequential}
"""


def trials(user: User, settings: str, clients: list[int]) -> list[tuple[dict[str, Any], Path]]:
    """The rows of a study's trials in their order, each with its folder."""
    text = STUDY.replace("SETTINGS", settings).replace("CLIENTS", str(clients))
    (user.home / "study.yaml").write_text(text)
    user.runs("run", "study.yaml")
    folders = [file.parent for file in user.home.glob("results/*/*/trials/*/trial.json")]
    found = [(json.loads((folder / "trial.json").read_text())["row"], folder) for folder in folders]
    return sorted(found, key=lambda trial: int(trial[0]["order"]))


def test_reads_and_inserts_add_up(user: User) -> None:
    found = trials(user, "factors: {workload: [read, insert]}", [1, 5])
    assert [row["clients"] for row, _ in found] == [1, 5, 1, 5]
    for number, (row, folder) in enumerate(found):
        reads = number < 2
        assert row["verdict"] != "invalid" and row["errors"] == row["timeouts"] == 0, row["reasons"]
        assert row["completed"] > 0 and row.get("documents") is None, "it keeps none in a store of documents"
        assert all(line["ok"] for line in json.loads((folder / "audit.json").read_text()))
        (check,) = json.loads((folder / "checks.json").read_text())
        assert check["ok"] and (check["grew"] > 0) != reads, check
        plan = json.loads((folder / "load.json").read_text())
        wanted = ("tcp", "zmq") if reads else ("http", None)
        assert (plan["target"].partition(":")[0], plan.get("protocol")) == wanted
    for row, folder in found[:2]:
        spans = pq.read_table(folder / "spans.parquet").to_pylist()
        servers = {span["span_id"]: span for span in spans if span["operation"] == "get"}
        calls = [span for span in spans if span["operation"] == "GET /documents/{id}"]
        assert len(spans) == 2 * len(servers) and row["traces"] == len(servers) >= row["completed"]
        assert row["spans_lost"] == 0 and {span["service"] for span in spans} == {"queue"}
        assert {span["parent_id"] for span in calls} == set(servers)


def test_a_rep_socket_makes_clients_wait_for_each_other(user: User) -> None:
    levels = "factors: {tasks.queue.socket: [rep, router]}\ndelays: {queue: 10ms}"
    (rep, _), (router, _) = trials(user, levels, [20])
    assert rep["verdict"] != "invalid" and router["verdict"] != "invalid"
    assert rep["mean_ms"] >= 0.98 * 20 * 10, "each waits for all others"
    assert router["mean_ms"] < rep["mean_ms"] / 3
