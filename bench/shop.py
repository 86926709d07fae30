"""What an order of the shop costs: CPU per request and service, time per span, spread of runs, bytes on disks.

The three services run as processes without limits on this machine, at a rate far below their capacity, every request
traced. CPU is what control groups count in the measured window, by completed request. It goes on where it was stopped;
``--runs`` and ``--seconds`` measure a part.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bench.common import ROOT, Row, build_stone, median_row, report
from bench.runs import finished
from loadstone.analysis import metrics, summary
from loadstone.analysis.metrics.nodes import NodeRow
from loadstone.analysis.reproduction import best_fits
from loadstone.analysis.run import RunFolder, open_run
from loadstone.analysis.schema import rows as rows_of

RATE = 4
SPAN = "user LinpackBenchmark1"
FILE_MB = 2.4
"""The size of the file that LargeFileTask writes in each request."""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=30, help="of a run's measured window")
    parser.add_argument("--folder", type=Path, default=ROOT / ".build/bench/shop", help="where its data lie")
    given = parser.parse_args(arguments)
    build_stone()
    run = open_run(finished(f"{given.runs}x{given.seconds}s", study(given.runs, given.seconds), given.folder))
    notes = [f"{given.runs} runs of {given.seconds} s at {RATE} req/s; low to high: of runs"]
    report("shop", [*cpu(run), *spans(run), *disks(run)], notes)


def study(repetitions: int, seconds: int) -> dict[str, Any]:
    """Nothing is judged, so the objective is one that cannot be missed."""
    return {
        "version": 1,
        "name": "bench-shop",
        "application": "shop",
        "scaling": "unlimited",
        "traces": {"sample": 1},
        "load": {"arrival": "constant", "rates": [RATE], "slo": {"p99": "4s", "completed": "50%"}},
        "trial": {"warmup": "5s", "duration": f"{seconds}s", "repetitions": repetitions, "reset": "per-trial"},
    }


def cpu(run: RunFolder) -> Iterator[Row]:
    """By service, its store apart."""
    found: dict[str, list[float]] = defaultdict(list)
    for trial in run.trials:
        used: dict[str, float] = defaultdict(float)
        for row in json.loads((run.folder / "trials" / trial.trial_id / "usage.json").read_text()):
            used[row["service"]] += row["cpu_s"]
        if trial.valid and trial.completed:
            for service, seconds in {**used, "all services": sum(used.values())}.items():
                found[service].append(1000 * seconds / trial.completed)
    for service in sorted(found, key=lambda name: -statistics.median(found[name])):
        yield median_row(f"CPU of {service}", "ms/request", found[service])


def spans(run: RunFolder) -> Iterator[Row]:
    """The median of each span in its best-fit run, and from run to run that of LinpackBenchmark1."""
    found = best_fits(run, summary.treatments(run))
    for row in found.fits:
        if row.kind == "span":
            yield Row(f"median of {row.span}", "us", row.p50_us, peer="its P99", peer_value=row.p99_us)
    medians = _medians(run)
    spread = 100 * statistics.stdev(medians) / statistics.mean(medians) if len(medians) > 1 else 0.0
    yield Row(f"{SPAN}: spread of the medians of runs", "%", spread)


def _medians(run: RunFolder) -> list[float]:
    """us, of each valid run."""
    service, operation = SPAN.split(" ", 1)
    found = []
    for trial in run.trials:
        table = pq.read_table(run.folder / "trials" / trial.trial_id / "spans.parquet")
        durations_us = [
            row["duration_ns"] / 1000
            for row in table.select(["service", "operation", "duration_ns"]).to_pylist()
            if (row["service"], row["operation"]) == (service, operation) and row["duration_ns"] >= 0
        ]
        if trial.valid and durations_us:
            found.append(statistics.median(durations_us))
    return found


def disks(run: RunFolder) -> Iterator[Row]:
    """Bytes that the machine wrote, beside those of large files; a kernel that writes later shows fewer."""
    nodes = [row for row in rows_of(NodeRow, metrics.gather(run).tables[NodeRow.NAME]) if row.replicas]
    written = [row.disk_written_bytes_per_s / 1e6 for row in nodes if row.disk_written_bytes_per_s is not None]
    if written:
        row = median_row("written to disks by this machine", "MB/s", written)
        yield Row(row.metric, row.unit, row.value, row.low, row.high, "large files", RATE * FILE_MB)


if __name__ == "__main__":
    main(sys.argv[1:])
