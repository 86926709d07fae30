"""What ``stone load`` writes for other tools is read by other tools, and says what its summary says."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from loadstone.infrastructure.binary import stone_binary
from loadstone.workloads.wrk2 import Wrk2


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run against a target that answers at once, by two load workers."""
    folder = tmp_path_factory.mktemp("exports")
    with subprocess.Popen([stone_binary(), "echo"], stdout=subprocess.PIPE, text=True) as echo:
        try:
            assert echo.stdout is not None
            drive(folder, echo.stdout.readline().strip().removeprefix("listening on "))
            yield folder
        finally:
            echo.terminate()


def drive(folder: Path, target: str) -> None:
    command = [str(stone_binary()), "load", "--member"]
    plan = {
        "target": f"http://{target}",
        "arrival": {"process": "poisson", "rate": 400},
        "warmup_s": 0.5,
        "duration_s": 2,
        "timeout_s": 30,
        "record_requests": True,
        "operations": [{"name": name, "path": f"/{name}"} for name in ("home", "search")],
        "members": [{"name": name, "command": command} for name in ("client-1", "client-2")],
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    options = ["--plan", str(folder / "plan.json"), "--out", str(folder)]
    done = subprocess.run([stone_binary(), "load", *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def summary(results: Path) -> dict[str, Any]:
    return cast(dict[str, Any], json.loads((results / "summary.json").read_text()))


def test_a_row_for_each_request(results: Path, summary: dict[str, Any]) -> None:
    files = sorted(results.glob("workers/*/requests.parquet"))
    table = pa.concat_tables(map(pq.read_table, files)).to_pydict()
    counts = summary["counts"]
    assert len(table["n"]) == counts["offered"] == counts["completed"] > 700
    assert len(set(table["n"])) == len(table["n"])
    assert set(table["thread"]) == {0, 1}
    assert set(table["operation"]) == {"home", "search"}
    assert set(table["outcome"]) == {"completed"}
    assert set(table["status"]) == {200}
    times = list(zip(table["scheduled_ns"], table["sent_ns"], table["ended_ns"], strict=True))
    assert all(5e8 <= scheduled <= sent <= ended for scheduled, sent, ended in times)
    latencies = sorted(ended - scheduled for scheduled, _, ended in times)
    median = latencies[-(-len(latencies) // 2) - 1] / 1e6
    assert summary["latency_ms"]["intended"]["p50"] == pytest.approx(median, rel=0.002, abs=0.001)
    assert summary["latency_ms"]["intended"]["max"] == pytest.approx(latencies[-1] / 1e6, rel=0.002)


def test_the_start_stands_in_the_file(results: Path, summary: dict[str, Any]) -> None:
    file = pq.ParquetFile(results / "workers" / "0" / "requests.parquet")
    started = file.schema_arrow.metadata[b"started"].decode()
    apart = datetime.fromisoformat(started) - datetime.fromisoformat(summary["started"])
    assert abs(apart.total_seconds()) < 1
    assert [field.name for field in file.schema_arrow] == (
        [
            "n",
            "operation",
            "scheduled_ns",
            "sent_ns",
            "ended_ns",
            "status",
            "outcome",
            "bytes",
            "thread",
            "client",
            "iteration",
        ]
    )


def test_wrk2s_text(results: Path, summary: dict[str, Any]) -> None:
    parsed = Wrk2().read((results / "wrk2.txt").read_text(), cast(Any, None), 2)
    assert parsed.answered == summary["completed_in_window"]
    assert (parsed.seconds, parsed.errors) == (2, 0)
    assert parsed.service is not None
    for name, value in summary["latency_ms"]["intended"].items():
        if name not in ("count", "answered", "p95", "mean"):
            assert parsed.service[name] == pytest.approx(value, rel=0.01, abs=0.01)
    assert len(parsed.spectrum) > 40


def test_readers_that_know_no_tags_find_every_request_once(results: Path, summary: dict[str, Any]) -> None:
    reader = HistogramLogReader(str(results / "latency.hlog"), HdrHistogram(1000, 7200 * 10**9, 3))
    counts: Counter[str | None] = Counter()
    while (interval := reader.get_next_interval_histogram()) is not None:
        counts[interval.get_tag()] += interval.get_total_count()
    reader.close()
    of_operations = [counts[f"intended:{operation['name']}"] for operation in summary["operations"]]
    assert counts[None] == sum(of_operations) == summary["counts"]["offered"]


def test_the_percentile_spectrum_is_that_of_the_log(results: Path) -> None:
    whole = HdrHistogram(1000, 7200 * 10**9, 3)
    for line in (results / "latency.hlog").read_text().splitlines():
        if line[0].isdigit():
            whole.decode_and_add(line.rpartition(",")[2])
    text = (results / "latency.hgrm").read_text()
    rows = re.findall(r"^\s+([0-9.]+)\s+([0-9.]+)\s+([0-9]+)\s+(?:[0-9.]+|inf)$", text, re.MULTILINE)
    assert len(rows) > 40
    total = whole.get_total_count()
    for value, share, count in rows:
        assert int(count) >= float(share) * total - 0.01
        assert float(value) == pytest.approx(whole.get_value_at_percentile(100 * int(count) / total) / 1e6, abs=0.0011)
    assert int(rows[-1][2]) == total
