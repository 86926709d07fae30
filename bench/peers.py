"""The peers of the load generator: how each is had, run and read. Each returns CPU microseconds per request."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from bench.common import ROOT
from bench.generator import CONNECTIONS, SECONDS, Bench

PEERS = ROOT / ".build" / "peers"
OHA = Path.home() / ".cache" / "loadstone" / "peers" / "bin" / "oha"

Peer = Callable[[Bench, int, int | None], float]


def wrk(bench: Bench, port: int, rate: int | None) -> float:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", f"http://127.0.0.1:{port}/"]
    output, cpu = bench.measure(command)
    return cpu * 1e6 / int(found(r"(\d+) requests in", output))


def hey(bench: Bench, port: int, rate: int | None) -> float:
    pace = [] if rate is None else ["-q", str(rate / CONNECTIONS)]
    command = [str(PEERS / "hey"), "-c", str(CONNECTIONS), "-z", f"{SECONDS}s", *pace, f"http://127.0.0.1:{port}/"]
    output, cpu = bench.measure(command)
    return cpu * 1e6 / int(found(r"\[200\]\s+(\d+) responses", output))


def oha(bench: Bench, port: int, rate: int | None) -> float:
    pace = [] if rate is None else ["-q", str(rate), "--latency-correction"]
    options = ["-c", str(CONNECTIONS), "-z", f"{SECONDS}s", "--no-tui", "--output-format", "json", *pace]
    output, cpu = bench.measure([str(OHA), *options, f"http://127.0.0.1:{port}/"])
    return cpu * 1e6 / int(found(r'"200":\s*(\d+)', output))


def found(pattern: str, output: str) -> str:
    match = re.search(pattern, output)
    if match is None:
        raise SystemExit(f"no {pattern} in the output: {output[-500:]}")
    return match[1]


def peers(notes: list[str]) -> dict[str, Peer]:
    """The peers that are installed; hey is built from the Go module proxy if need be."""
    if not (PEERS / "hey").exists():
        PEERS.mkdir(parents=True, exist_ok=True)
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
    return {name: peer for name, (peer, there, _) in known.items() if there}
