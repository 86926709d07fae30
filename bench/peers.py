"""The peers and limits of the load generator: how each is had, run and read. Each returns what its requests took."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from bench.common import ROOT
from bench.generator import CONNECTIONS, SECONDS, GeneratorBench, Spent

PEERS = ROOT / ".build" / "peers"
BARE = PEERS / "bare"
IO_URING_DISABLED = Path("/proc/sys/kernel/io_uring_disabled")
EPOLL, URING = "epoll loop", "io_uring loop"
OHA = Path.home() / ".cache" / "loadstone" / "peers" / "bin" / "oha"

Peer = Callable[[GeneratorBench, int, int | None], Spent]


def wrk(bench: GeneratorBench, port: int, rate: int | None) -> Spent:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", f"http://127.0.0.1:{port}/"]
    output, usage = bench.observe(command)
    return Spent(int(found(r"(\d+) requests in", output)), usage)


def hey(bench: GeneratorBench, port: int, rate: int | None) -> Spent:
    pace = [] if rate is None else ["-q", str(rate / CONNECTIONS)]
    command = [str(PEERS / "hey"), "-c", str(CONNECTIONS), "-z", f"{SECONDS}s", *pace, f"http://127.0.0.1:{port}/"]
    output, usage = bench.observe(command)
    return Spent(int(found(r"\[200\]\s+(\d+) responses", output)), usage)


def oha(bench: GeneratorBench, port: int, rate: int | None) -> Spent:
    pace = [] if rate is None else ["-q", str(rate), "--latency-correction"]
    options = ["-c", str(CONNECTIONS), "-z", f"{SECONDS}s", "--no-tui", "--output-format", "json", *pace]
    output, usage = bench.observe([str(OHA), *options, f"http://127.0.0.1:{port}/"])
    return Spent(int(found(r'"200":\s*(\d+)', output)), usage)


def bare(loop: str) -> Peer:
    """A loop of ``stone/load/bare`` that sends, receives and records nothing."""

    def run(bench: GeneratorBench, port: int, rate: int | None) -> Spent:
        options = ["-loop", loop, "-address", f"127.0.0.1:{port}", "-connections", str(CONNECTIONS)]
        output, usage = bench.observe([str(BARE), *options, "-rate", str(rate or 0), "-for", f"{SECONDS}s"])
        return Spent(int(json.loads(output)["requests"]), usage)

    return run


def timer_late_ms(bench: GeneratorBench, rate: int) -> float:
    """P99 in ms of how late a thread wakes that does nothing else, at Poisson times of this rate."""
    output, _ = bench.observe([str(BARE), "-loop", "timer", "-rate", str(rate), "-for", f"{SECONDS}s"])
    return float(json.loads(output)["lateness_p99_ms"])


def found(pattern: str, output: str) -> str:
    match = re.search(pattern, output)
    if match is None:
        raise SystemExit(f"no {pattern} in the output: {output[-500:]}")
    return match[1]


def peers(notes: list[str]) -> dict[str, Peer]:
    """The limits, built here, and the peers that are installed; hey is built as a Go module if need be."""
    PEERS.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", str(BARE), "./load/bare"], cwd=ROOT / "stone", check=True)
    if not (PEERS / "hey").exists():
        command = ["go", "install", "github.com/rakyll/hey@latest"]
        subprocess.run(command, env={**os.environ, "GOBIN": str(PEERS)}, check=False, capture_output=True)
    known: dict[str, tuple[Peer, bool, str]] = {
        "wrk": (wrk, shutil.which("wrk") is not None, "apt install wrk"),
        "hey": (hey, (PEERS / "hey").exists(), "go install github.com/rakyll/hey@latest"),
        "oha": (oha, OHA.exists(), f"cargo install oha --root {OHA.parents[1]}"),
    }
    for name, (_, there, how) in known.items():
        if not there:
            notes.append(f"{name} is left out, it is not installed: {how}")
    limits = {EPOLL: bare("epoll")}
    if IO_URING_DISABLED.exists() and IO_URING_DISABLED.read_text().strip() == "0":
        limits[URING] = bare("uring")
    else:
        notes.append("the io_uring loop is left out: this kernel does not offer io_uring")
    return limits | {name: peer for name, (peer, there, _) in known.items() if there}
