"""``stone spans``: what it takes on one core, what that costs, how long a trial's end takes (python -m bench spans).

The receiver runs on one core (``--cpus``) and ``stone/spans/flood``, which makes spans up, on another. Flood sends
nothing twice: what it acknowledged must be in the file. CPU is the process's user and system time, memory its
highest resident set (``VmHWM``).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow.parquet as pq

from bench.common import ROOT, Row, build_stone, median_row, report

ROUNDS, RATE, SECONDS = 3, 100_000, 10
MANY = 5_000_000


@dataclass(frozen=True)
class ReceiverProcess:
    """A running ``stone spans``."""

    process: subprocess.Popen[str]
    grpc: str

    def order(self, verb: str, **values: Any) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"verb": verb, **values}) + "\n")
        counts: dict[str, Any] = json.loads(self.process.stdout.readline())["ok"]
        return counts

    def cpu(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Highest resident set so far, MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


@dataclass(frozen=True)
class SpansTrial:
    """What one flood became: its own tally, the receiver's counts, and what that took."""

    sent: dict[str, float]
    counts: dict[str, Any]
    rows: int
    cpu_us: float
    finish_s: float
    memory_mb: float


@dataclass(frozen=True)
class SpansBench:
    stone: Path
    flood: Path
    scratch: Path
    receiver_cpu: int
    sender_cpu: int

    @contextmanager
    def receiver(self, *wrapped: str) -> Iterator[ReceiverProcess]:
        ports = ("--control", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
        command = [*wrapped, str(self.stone), "spans", *ports, "--cpus", str(self.receiver_cpu)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline().split() for _ in range(2)]
            yield ReceiverProcess(process, lines[0][2])
        finally:
            process.terminate()
            process.wait(60)

    def trial(self, *flags: str, sender_cpu: int | None = None, wrapped: tuple[str, ...] = ()) -> SpansTrial:
        """One flood into a receiver of its own."""
        file = self.scratch / "spans.parquet"
        with self.receiver(*wrapped) as to:
            to.order("begin", file=str(file))
            pinned = ["taskset", "-c", str(self.sender_cpu if sender_cpu is None else sender_cpu)]
            output = subprocess.check_output([*pinned, str(self.flood), "--to", to.grpc, *flags], text=True)
            sent = json.loads(output)
            cpu = to.cpu()
            began = monotonic()
            counts = to.order("end", quiet_s=0)
            finish = monotonic() - began
            memory = to.memory()
        rows = pq.read_metadata(file).num_rows
        return SpansTrial(sent, counts, rows, cpu * 1e6 / max(1, rows), finish, memory)


def sustained(bench: SpansBench) -> list[Row]:
    """A steady rate."""
    trials = [bench.trial("--rate", str(RATE), "--spans", str(RATE * SECONDS)) for _ in range(ROUNDS)]
    at = f"{RATE}/s offered for {SECONDS} s"
    accepted = median_row(f"accepted, {at}", "spans/s", [t.sent["accepted"] / t.sent["seconds"] for t in trials])
    memory = median_row(f"peak memory, {at}", "MB", [t.memory_mb for t in trials])
    given_up = median_row(f"not taken, {at}", "spans", [t.sent["offered"] - t.sent["accepted"] for t in trials])
    lost = median_row(f"taken and not in the file, {at}", "spans", [t.sent["accepted"] - t.rows for t in trials])
    return [
        replace(accepted, target=f"at least {0.99 * RATE:g}", holds=accepted.value >= 0.99 * RATE),
        median_row(f"CPU per span, {at}", "us", [t.cpu_us for t in trials]),
        replace(memory, target="under 200 MB", holds=(memory.high or 0) < 200),
        replace(given_up, target="none", holds=given_up.high == 0),
        replace(lost, target="none", holds=(lost.high or 0) <= 0),
    ]


def many(bench: SpansBench) -> list[Row]:
    """As fast as they are taken; then the sorting and merging of a long trial."""
    trial = bench.trial("--spans", str(MANY))
    what = f"{MANY / 1e6:g} million spans"
    return [
        Row(f"accepted, as fast as one core sends, {what}", "spans/s", trial.sent["accepted"] / trial.sent["seconds"]),
        Row(f"the file of {what} is whole after", "s", trial.finish_s),
        Row(f"its size, {what}", "bytes/span", (bench.scratch / "spans.parquet").stat().st_size / trial.rows),
        Row(f"peak memory, {what}", "MB", trial.memory_mb, target="under 200 MB", holds=trial.memory_mb < 200),
    ]


def overload(bench: SpansBench) -> list[Row]:
    """The receiver has what the sender leaves of a core, at the lowest priority, and 512 requests come at a time."""
    flags = ("--rate", "400000", "--spans", "2000000", "--connections", "32", "--at-once", "16")
    trial = bench.trial(*flags, sender_cpu=bench.receiver_cpu, wrapped=("nice", "-n", "19"))
    counts, sent = trial.counts, trial.sent
    untold = counts["produced"] - counts["dropped"] - counts["received"]
    wrong = sent["accepted"] - trial.rows
    return [
        Row("overload: offered", "spans", sent["offered"]),
        Row("overload: in the file", "spans", trial.rows),
        Row("overload: refused, as the receiver counts", "spans", counts["refused"]),
        Row("overload: given up, by the senders' counts", "spans", counts["dropped"]),
        Row("overload: taken and not in the file", "spans", wrong, target="none", holds=wrong <= 0),
        Row("overload: not accounted for", "spans", untold, target="none", holds=untold <= 0),
        Row("overload: peak memory", "MB", trial.memory_mb, target="under 200 MB", holds=trial.memory_mb < 200),
    ]


def main() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise SystemExit("needs two cores")
    flood = ROOT / ".build" / "flood"
    stone = build_stone()
    subprocess.run(["go", "build", "-o", str(flood), "./spans/flood"], cwd=ROOT / "stone", check=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = SpansBench(stone, flood, Path(folder), cpus[0], cpus[1])
        rows = [*sustained(bench), *many(bench), *overload(bench)]
    notes = [
        f"batches of 512 spans of about 200 bytes, 8 connections; {ROUNDS} rounds of the steady rate, one of the rest",
        "CPU without the end of the trial; overload: both on one core, the receiver at nice 19, 32 connections",
        "not taken: also what the sender itself had no time for, as it was two seconds late",
        "a negative number: requests that the sender gave up waiting for, but that were taken",
    ]
    report("spans", rows, notes)


if __name__ == "__main__":
    main()
