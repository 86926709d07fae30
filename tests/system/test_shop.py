"""Studies of the shop as processes: the published loads, scaled down, and what goes wrong counted in the result."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.analysis import summary
from loadstone.analysis.reproduction import best_fits
from loadstone.analysis.run import open_run
from loadstone.model import papers
from tests import shop_spans
from tests.support import applications
from tests.support.clusters import folders
from tests.support.disks import disk
from tests.support.users import User

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]

PUBLISHED = """\
version: 1
name: published
reproduces: vinken2022
application: application.yaml
traces: {sample: 100%}
factors: {workload: [orders, payment-alone]}
load: {closed: {clients: [3], pace: 20}, timeout: 20s, lateness: 10s}
trial: {warmup: {requests: 10}, requests: 40, repetitions: 2, reset: per-treatment}
"""
WRONG = """\
version: 1
name: wrong
application: application.yaml
workloads:
  wrong:
    operations:
      create: {method: POST, path: "/orders/create/id/{id}", fields: {id: {kind: seeded, of: users, first: 1}}}
      unknown: {method: POST, path: /orders/create/id/123456789}
      negative: {method: POST, path: /orders/create/id/-7}
      large: {method: POST, path: /orders/create/id/1, body: "BODY", fields: {text: {kind: text, length: 1048576}}}
load: {closed: {clients: [2]}, timeout: 20s, lateness: 10s}
trial: {warmup: 0s, requests: 40}
"""


def trials(user: User, study: str, **tasks: Any) -> list[tuple[dict[str, Any], Path]]:
    """The rows of a study's trials in their order, each with its folder; ``tasks``: other parameters of ``order``."""
    shop = applications.shop()
    shop["services"]["order"]["tasks"] |= tasks
    (user.home / "application.yaml").write_text(yaml.safe_dump(shop))
    (user.home / "study.yaml").write_text(study)
    user.runs("run", "study.yaml")
    folders = [file.parent for file in user.home.glob("results/*/*/trials/*/trial.json")]
    found = [(json.loads((folder / "trial.json").read_text())["row"], folder) for folder in folders]
    return sorted(found, key=lambda trial: int(trial[0]["order"]))


def trees(folder: Path) -> list[list[str]]:
    """Each trace as lines: service, verb and operation of each span, indented below its parent."""
    within: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for span in pq.read_table(folder / "spans.parquet").to_pylist():
        within[span["trace_id"], span["parent_id"]].append(span)

    def lines(span: dict[str, Any], indent: str) -> list[str]:
        verb = {1: "does", 2: "serves", 3: "calls"}[span["kind"]]
        peer = f" > {span['peer']}" if verb == "calls" else ""
        below = sorted(lines(each, indent + "  ") for each in within[span["trace_id"], span["span_id"]])
        return [
            f"{indent}{span['service']} {verb} {span['operation']}{peer}",
            *(line for each in below for line in each),
        ]

    roots = [span for (_, parent), spans in within.items() if not parent for span in spans]
    made = [lines(root, "") for root in roots]
    assert sum(map(len, made)) == sum(map(len, within.values())), "a span's parent is not in its trace"
    return made


def test_the_published_loads_make_whole_traces_of_the_published_spans(user: User) -> None:
    found = trials(user, PUBLISHED)
    assert len(found) == 4
    wanted = {"orders": shop_spans.tree("order"), "payment-alone": shop_spans.tree("payment")}
    for row, folder in found:
        assert row["verdict"] == "measured", row["reasons"]
        assert (row["sent"], row["completed"], row["errors"], row["spans_lost"]) == (40, 40, 0, 0)
        checks = json.loads((folder / "checks.json").read_text())
        assert checks and all(check["ok"] for check in checks), checks
        made = trees(folder)
        assert len(made) == row["traces"] == 50, "each request of the warm-up and of the window is one"
        expected = wanted[row["factor_workload"]]
        assert all(tree == expected for tree in made), next(tree for tree in made if tree != expected)
    run = open_run(found[0][1].parents[1])
    fits = best_fits(run, summary.treatments(run)).fits
    measured = {row.span for row in fits if row.kind == "span"}
    assert {value.span for value in papers.values("vinken2022") if value.span} <= measured, "values meet real spans"


def test_what_is_wrong_is_counted_by_its_cause(user: User) -> None:
    ((row, folder),) = trials(user, WRONG.replace("BODY", 10 * "{text}"))
    found = json.loads((folder / "summary.json").read_text())
    counts = {operation["name"]: operation["counts"] for operation in found["operations"]}
    assert counts["create"]["completed"] == counts["create"]["sent"] > 0
    kinds = {(failure["operation"], failure["kind"]): failure for failure in found["errors"]}
    expected = {"unknown": ("404", "no user 123456789"), "negative": ("400", '"-7"'), "large": ("413", "1048576 bytes")}
    assert set(kinds) == {(name, f"status {status}") for name, (status, _) in expected.items()}
    for name, (status, text) in expected.items():
        failure = kinds[name, f"status {status}"]
        assert failure["count"] == counts[name]["errors"] == counts[name]["sent"] > 0
        assert text in failure["example"], failure
    assert row["errors"] == sum(failure["count"] for failure in found["errors"])
    (orders, *_) = checks = json.loads((folder / "checks.json").read_text())
    assert all(check["ok"] for check in checks) and orders["grew"] == counts["create"]["completed"], checks


@pytest.mark.root
def test_orders_for_which_the_disk_has_no_room_are_counted() -> None:
    """On a disk that holds the stores and some of the large files."""
    with folders() as home, disk(home / "data", 320):
        study = PUBLISHED.replace("factors: {workload: [orders, payment-alone]}\n", "").replace("repetitions: 2, ", "")
        study = study.replace("{requests: 10}", "0s")
        ((row, folder),) = trials(User(home), study, large_file="8MB")
        found = json.loads((folder / "summary.json").read_text())
        checks = json.loads((folder / "checks.json").read_text())
    (failure,) = found["errors"]
    assert (failure["kind"], failure["operation"]) == ("expected status 200, got 507", "create")
    # Which file meets the end first is chance: one order's large file may take what another's small ones need.
    assert re.match(r"(Large|Small)FileTask\.\w+: the disk is full", failure["example"]), failure
    assert failure["count"] == row["errors"] == row["sent"] - row["completed"] > 0
    assert row["completed"] > 0 and all(check["ok"] for check in checks), "no row of an order that failed"
