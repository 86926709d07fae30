"""What is seen inside of a real run: spans of every request, counters of every replica, a delay where it was put."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.analysis import traces
from tests.support import applications
from tests.support.users import User, descendants
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.servers, pytest.mark.timeout(900)]

DELAY_S = 0.005
TRANSFER = "POST /payment/transfer/id/{id}/amount/{amount}"
"""What payment answers, and nothing else in a trace has that name and no peer."""
STUDY = """\
version: 1
name: observed
application: application.yaml
factors: {delays: [off, {payment: 5ms}]}
traces: {sample: 1}
metrics: {period: 200ms}
load: {rates: [20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 16}
trial: {warmup: 1s, duration: 3s, order: sequential}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    user = User(tmp_path_factory.mktemp("user"))
    (user.home / "application.yaml").write_text(yaml.safe_dump(applications.shop()))
    (user.home / "study.yaml").write_text(STUDY)
    user.runs("run", "study.yaml")
    [folder] = user.home.glob("results/observed/*")
    return folder


def about_observing(warnings: list[str]) -> list[str]:
    """Without those that a busy machine causes: load that was sent late, a processor that others used."""
    return [each for each in warnings if any(word in each for word in ("span", "trace", "counter", "record"))]


def trials(run: Path) -> dict[str, tuple[dict[str, Any], Path]]:
    """By the delay, the trial's row and its folder."""
    rows = pq.read_table(run / "trials.parquet").to_pylist()
    return {row["factor_delays"]: (row, run / "trials" / row["trial_id"]) for row in rows}


def test_every_request_is_a_trace_and_no_span_is_lost(run: Path) -> None:
    for row, folder in trials(run).values():
        observed = json.loads((folder / "observed.json").read_text())
        assert row["traces"] == observed["traces"]["requests"] > 30
        assert (row["spans_lost"], observed["traces"]["produced"]) == (0, row["spans"])
        assert observed["problems"] == [] and about_observing(row["warnings"]) == []


def test_a_delay_is_seen_in_the_service_that_has_it(run: Path) -> None:
    own = {}
    for delay, (_, folder) in trials(run).items():
        observed = json.loads((folder / "observed.json").read_text())
        window = observed["window"]
        spans = traces.read(folder / "spans.parquet", window["from_ns"], window["to_ns"])
        table = traces.analyse(spans).operations.to_pylist()
        [own[delay]] = [each for each in table if (each["operation"], each["peer"]) == (TRANSFER, "")]
    # A busy machine adds to the delay and takes nothing from it.
    assert own["payment:5ms"]["exclusive_p50_ms"] >= 1000 * DELAY_S
    assert own["payment:5ms"]["exclusive_p50_ms"] > own["none"]["exclusive_p50_ms"]


def test_counters_of_every_replica_are_there(run: Path) -> None:
    for _, folder in trials(run).values():
        observed = json.loads((folder / "observed.json").read_text())
        table = pq.read_table(folder / "metrics.parquet")
        seen = set(zip(table["subject"].to_pylist(), table["metric"].to_pylist(), strict=True))
        assert ("node", "cpu_user_seconds_total") in seen and ("node", "context_switches_total") in seen
        assert observed["nodes"]["worker-1"]["recorded"]
        if os.geteuid() == 0:  # else nothing may have a control group of its own
            counted = {subject for subject, metric in seen if metric == "container_cpu_seconds_total"}
            assert counted == {f"replica:{name}" for name in observed["replicas"]}
        times = table["time_ns"].to_pylist()
        assert min(times) < observed["window"]["from_ns"] and max(times) > observed["window"]["to_ns"]


def test_the_report_and_the_terminal_show_it(run: Path) -> None:
    user = User(run.parents[2])
    page = (run / "report" / "index.html").read_text()
    assert "Where the time goes" in page and "payment:5ms" in page
    shown = user.runs("traces", str(run), "--folded", "stacks.txt").stdout
    assert "order POST" in shown and "on the critical path" in shown
    lines = (user.home / "stacks.txt").read_text().splitlines()
    assert any(line.startswith("order POST /orders/create/id/{id};") for line in lines)


def test_a_receiver_that_is_killed_spoils_one_trial_s_spans_and_nothing_else(tmp_path: Path) -> None:
    user = User(tmp_path)
    two = STUDY.replace("factors: {delays: [off, {payment: 5ms}]}\n", "").replace("rates: [20]", "rates: [20, 21]")
    (tmp_path / "application.yaml").write_text(yaml.safe_dump(applications.shop()))
    (tmp_path / "study.yaml").write_text(two)
    process = user.starts("run", "study.yaml")
    try:
        user.waits_until_a_trial_is_loaded(process, finished=0)
        [receiver] = descendants(process.pid, " spans ")
        os.kill(receiver.pid, signal.SIGKILL)
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0, out + err
    [table] = tmp_path.glob("results/*/*/trials.parquet")
    first, second = pq.read_table(table).to_pylist()
    assert_answered(first, second)
    assert any("spans were not recorded" in warning for warning in about_observing(first["warnings"]))
    assert about_observing(second["warnings"]) == [] and second["spans"] > 0
