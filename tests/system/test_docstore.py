"""Studies of the docstore on processes: inserts over HTTP, reads over ZeroMQ, one at a time and several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.users import User, descendants

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

STUDY = """\
version: 1
name: documents
application: docstore
SETTINGS
traces: {sample: 1}
load: {closed: {clients: CLIENTS}, timeout: 20s, lateness: 10s}
trial: {warmup: 1s, order: sequential}
"""


WRONG = """\
workloads:
  wrong-messages:
    protocol: zmq
    operations:
      get: {body: '{"op":"get","id":"document-1"}', expect: {json: {path: document._id}}}
      text: {body: "no JSON", expect: {json: {path: document._id}}}
      unknown: {body: '{"op":"get","id":"none"}', expect: {json: {path: document._id}}}
      large: {body: "LARGE", fields: {text: {kind: text, length: 1048576}}, expect: {json: {path: document._id}}}
  wrong-documents:
    entry: couchdb
    operations:
      insert: {method: POST, path: /documents, headers: {Content-Type: application/json}, body: "{}"}
      text: {method: POST, path: /documents, headers: {Content-Type: application/json}, body: '{"a":'}
      list: {method: POST, path: /documents, headers: {Content-Type: application/json}, body: "[]"}
      unknown: {path: /documents/none}
factors: {workload: [wrong-messages, wrong-documents]}
"""


def trials(user: User, settings: str, clients: str) -> list[tuple[dict[str, Any], Path]]:
    """The rows of a study's trials in their order, each with its folder."""
    text = STUDY.replace("SETTINGS", settings).replace("CLIENTS", clients)
    (user.home / "study.yaml").write_text(text)
    user.runs("run", "study.yaml")
    folders = [file.parent for file in user.home.glob("results/*/*/trials/*/trial.json")]
    found = [(json.loads((folder / "trial.json").read_text())["row"], folder) for folder in folders]
    return sorted(found, key=lambda trial: int(trial[0]["order"]))


def test_the_published_iterations_add_up(user: User) -> None:
    found = trials(user, "factors: {workload: [read, insert]}", "[1, 5], requests: 20, iterations: 3")
    assert [row["clients"] for row, _ in found] == [1, 5, 1, 5]
    for number, (row, folder) in enumerate(found):
        reads = number < 2
        assert row["verdict"] != "invalid" and row["errors"] == row["timeouts"] == 0, row["reasons"]
        assert row["sent"] == row["completed"] == 60 * row["clients"]
        iterations = pq.read_table(folder / "iterations.parquet").to_pylist()
        assert len(iterations) == 3 * row["clients"] and {each["requests"] for each in iterations} == {20}
        assert row.get("documents") is None, "it keeps none in a store of documents"
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


@pytest.mark.long
def test_a_rep_socket_makes_clients_wait_for_each_other(user: User) -> None:
    levels = "factors: {tasks.queue.socket: [rep, router]}\ndelays: {queue: 10ms}"
    (rep, _), (router, _) = trials(user, levels, "[20], requests: 15")
    assert rep["verdict"] != "invalid" and router["verdict"] != "invalid"
    assert rep["mean_ms"] >= 0.98 * 20 * 10, "each waits for all others"
    assert router["mean_ms"] < rep["mean_ms"] / 3


def test_what_is_wrong_is_counted_by_its_cause(user: User) -> None:
    messages, documents = trials(user, WRONG.replace("LARGE", 10 * "{text}"), "[2], requests: 40")
    no_id = "expected json document._id, it is not there"
    expected = {
        "get": {"text": (no_id, "bad_request"), "unknown": (no_id, "missing"), "large": (no_id, "message_too_large")},
        "insert": {
            "text": ("status 400", "invalid UTF-8 JSON"),
            "list": ("status 400", "must be a JSON object"),
            "unknown": ("status 404", "missing"),
        },
    }
    for (row, folder), good in ((messages, "get"), (documents, "insert")):
        found = json.loads((folder / "summary.json").read_text())
        counts = {operation["name"]: operation["counts"] for operation in found["operations"]}
        failures = {failure["operation"]: failure for failure in found["errors"]}
        assert {name: failure["kind"] for name, failure in failures.items()} == {
            name: kind for name, (kind, _) in expected[good].items()
        }
        for name, (_, reason) in expected[good].items():
            assert reason in failures[name]["example"]
            assert failures[name]["count"] == counts[name]["errors"] == counts[name]["sent"] > 0
        assert counts[good]["completed"] == counts[good]["sent"] == row["completed"] == row["sent"] - row["errors"] > 0
        (check,) = json.loads((folder / "checks.json").read_text())
        assert check["ok"] and check["grew"] == check["completed"], "nothing but good inserts is stored"
        assert (check["grew"] > 0) == (good == "insert")


def test_a_store_that_dies_takes_its_documents_along(user: User) -> None:
    """The trial names it and what it held; the next one has a store of its own, seeded."""
    text = STUDY.replace("SETTINGS", "workload: insert").replace("CLIENTS", "[1, 2, 3], requests: 60, pace: 20")
    # What is sent to a store that is gone fails when its time is up.
    (user.home / "study.yaml").write_text(text.replace("timeout: 20s", "timeout: 5s"))
    user.environment["LOADSTONE_DATA"] = str(user.home / "data")
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=1)
    (store,) = descendants(process.pid, "stone couchdb")
    store.kill()
    output, _ = process.communicate()
    files = user.home.glob("results/*/*/trials/*/trial.json")
    before, lost, after = sorted((json.loads(file.read_text())["row"] for file in files), key=lambda row: row["order"])
    assert [row["verdict"] for row in (before, lost, after)] == ["measured", "invalid", "measured"], output
    died, documents = lost["reasons"]
    assert "couchdb" in died and documents.endswith(" in couchdb/documents"), lost["reasons"]
    held = int(documents.removesuffix(" in couchdb/documents").rpartition(" ")[2].replace(",", ""))
    assert documents.startswith("documents are lost or out of reach: ") and held > 1000, "and those of this trial"
