"""The load generator beside its peers: CPU per request, lateness, and the truth of its tail (python -m bench.load).

All drive NGINX returning 2 bytes, NGINX on one core and the generator on another, 64 connections, alternately in the
same run. CPU is user and system time of the whole process (``wait4``), from its start to its end. *Saturated* means for
``stone load`` an offered rate far above what one core can send (there is always a request due, so each connection sends
again as soon as it is answered), for the closed-loop peers what they always do.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

from bench.common import ROOT, Row, build_stone, free_port, median_row, report

ROUNDS, SECONDS, CONNECTIONS = 7, 3, 64
RATES = (5_000, 20_000)
FAR_ABOVE = 250_000
STALL_S, STALL_RATE, STALL_WINDOW_S = 0.5, 1_000, 10
CAPACITY, OVERLOAD_S = 500, 5
PEERS = ROOT / ".build" / "peers"
OHA = Path.home() / ".cache" / "loadstone" / "peers" / "bin" / "oha"

NGINX = """daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000;
  client_body_temp_path {dir}/1; proxy_temp_path {dir}/2; fastcgi_temp_path {dir}/3; uwsgi_temp_path {dir}/4;
  scgi_temp_path {dir}/5;
  server {{ listen 127.0.0.1:{port} backlog=1024; default_type text/plain; location / {{ return 200 "ok"; }} }} }}
"""


@dataclass(frozen=True)
class Bench:
    """Where things are: the binary, a folder for scratch, and one core each for generator and server."""

    stone: Path
    scratch: Path
    generator_cpu: int
    server_cpu: int

    @contextmanager
    def server(self, command: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
        """A server on its core, stopped at the end."""
        pinned = ["taskset", "-c", str(self.server_cpu), *command]
        process = subprocess.Popen(pinned, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(port, process)
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(10)

    def measure(self, command: list[str]) -> tuple[str, float]:
        """Run a generator on its core; its output and the CPU seconds it used."""
        pinned = ["taskset", "-c", str(self.generator_cpu), *command]
        process = subprocess.Popen(pinned, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{command[0]} failed with {process.returncode}: {output[-500:]}")
        return output, usage.ru_utime + usage.ru_stime

    def load(self, port: int, rate: float, seconds: float, **keys: Any) -> tuple[dict[str, Any], float]:
        """Run ``stone load`` with a plan; its summary and the CPU seconds it used."""
        plan = {
            "target": f"http://127.0.0.1:{port}", "connections": CONNECTIONS, "seed": 1, "cpus": [self.generator_cpu],
            "arrival": {"process": "poisson", "rate": rate}, "duration_s": seconds,
            "operations": [{"name": "two-bytes", "path": "/"}], **keys,
        }  # fmt: skip
        path = self.scratch / "plan.json"
        path.write_text(json.dumps(plan))
        _, cpu = self.measure([str(self.stone), "load", "--plan", str(path), "--out", str(self.scratch)])
        summary = json.loads((self.scratch / "summary.json").read_text())
        assert identity(summary["counts"]), summary["counts"]
        return summary, cpu


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        try:
            urlopen(f"http://127.0.0.1:{port}/", timeout=1).read()
            return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
    raise SystemExit(f"the server on port {port} did not start")


def identity(counts: dict[str, int]) -> bool:
    kinds = ("completed", "late", "errors", "timeouts", "unsent", "in_flight")
    return counts["offered"] == sum(counts[kind] for kind in kinds)


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


def cost(bench: Bench, port: int, others: dict[str, Peer]) -> list[Row]:
    """CPU per request of everyone and our lateness, at fixed rates and saturated, alternately."""
    cpu: dict[tuple[str, int | None], list[float]] = defaultdict(list)
    late: dict[tuple[int, str], list[float]] = defaultdict(list)
    throughput: list[float] = []
    for number in range(ROUNDS):
        for rate in (*RATES, None):
            process = "poisson" if rate else "constant"
            keys: dict[str, Any] = {"arrival": {"process": process, "rate": rate or FAR_ABOVE}}
            if rate is None:
                keys.update(drain_s=0, timeout_s=60)
            summary, used = bench.load(port, 0, SECONDS, **keys)
            cpu["stone", rate].append(used * 1e6 / summary["counts"]["sent"])
            if rate is None:
                throughput.append(summary["throughput"])
            else:
                for name in ("p50", "p99"):
                    late[rate, name].append(summary["latency_ms"]["lateness"][name])
                late[rate, "own"].append(summary["generator"]["own_lateness_p99_ms"])
            for name, peer in others.items():
                if rate is None or name != "wrk":  # wrk has no rate
                    cpu[name, rate].append(peer(bench, port, rate))
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    rows = []
    for rate in (*RATES, None):
        at = "saturated" if rate is None else f"{rate}/s"
        ours = median_row(f"CPU per request, {at}", "us", cpu["stone", rate])
        if rate == 20_000:
            ours = replace(ours, target="at most 15 us", holds=ours.value <= 15)
        rows += [ours] if not others else []
        for name in others:
            if cpu[name, rate]:
                row = against(ours, name, cpu[name, rate])
                if name == "wrk":
                    row = replace(row, target="at most 0.9 x wrk", holds=(row.ratio or 9) <= 0.9)
                rows.append(row)
        for name in ("p50", "p99"):
            if rate is not None:
                row = median_row(f"send lateness {name.upper()}, {at}", "ms", late[rate, name])
                if (rate, name) == (20_000, "p99"):
                    row = replace(row, target="under 0.4 ms", holds=row.value < 0.4)
                rows.append(row)
        if rate is not None:
            rows.append(median_row(f"its own part of that P99, {at}", "ms", late[rate, "own"]))
    rows.append(median_row("throughput, saturated", "req/s", throughput))
    return rows


def against(ours: Row, peer: str, rounds: list[float]) -> Row:
    theirs = statistics.median(rounds)
    return replace(ours, peer=peer, peer_value=theirs, ratio=ours.value / theirs)


def stall(bench: Bench, port: int, nginx: subprocess.Popen[bytes]) -> Row:
    """A server that stops for 500 ms in a window of 10 s: the worst 1 % are those meant for its first 100 ms."""
    errors = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            time.sleep(STALL_WINDOW_S / 2)
            os.kill(nginx.pid, signal.SIGSTOP)
            time.sleep(STALL_S)
            os.kill(nginx.pid, signal.SIGCONT)
            os._exit(0)
        summary, _ = bench.load(port, 0, STALL_WINDOW_S, arrival={"process": "constant", "rate": STALL_RATE})
        os.waitpid(child, 0)
        errors.append(summary["latency_ms"]["intended"]["p99"])
    true = (STALL_S - STALL_WINDOW_S / 100) * 1000
    row = median_row("P99 with a server stall of 500 ms at 1000/s", "ms", errors)
    ratio = row.value / true
    holds = abs(ratio - 1) <= 0.02
    return replace(row, peer="truth", peer_value=true, ratio=ratio, target="within 2 % of 400 ms", holds=holds)


def overload(bench: Bench) -> list[Row]:
    """Twice the capacity of a paced server; truth is the server's own record of every answer against the schedule."""
    port, log = free_port(), bench.scratch / "answers"
    with bench.server([sys.executable, "-m", "bench.paced", str(port), str(CAPACITY), str(log)], port):
        rate = 2 * CAPACITY
        keys = {"arrival": {"process": "constant", "rate": rate}, "timeout_s": 60, "drain_s": 60}
        summary, _ = bench.load(port, 0, OVERLOAD_S, **keys)
    planned = rate * OVERLOAD_S
    answers = np.loadtxt(log)[-planned:]  # before them: the probe that waited for the server
    started = datetime.fromisoformat(summary["started"]).timestamp()
    latencies = (answers - started - np.arange(planned) / rate) * 1000  # first come, first served: k-th is k-th
    counts, intended = summary["counts"], summary["latency_ms"]["intended"]
    whole = identity(counts) and counts["offered"] == counts["completed"] == planned
    rows = [Row("overload: requests accounted for", f"of {planned}", counts["completed"], target="all", holds=whole)]
    for name, share in (("p50", 50), ("p99", 99)):
        true = float(np.percentile(latencies, share))
        ratio = intended[name] / true
        rows.append(Row(
            f"overload: {name.upper()} at twice the capacity", "ms", intended[name], peer="truth", peer_value=true,
            ratio=ratio, target="within 5 %", holds=abs(ratio - 1) <= 0.05,
        ))  # fmt: skip
    return rows


def main() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or shutil.which("nginx") is None:
        raise SystemExit("needs two cores and nginx (apt install nginx-light)")
    notes = [
        f"{ROUNDS} rounds of {SECONDS} s, alternately; median, lowest, highest; {CONNECTIONS} connections, server and "
        "generator on one core each of a machine that others may use too",
        f"saturated: stone load with threads 1 and {FAR_ABOVE}/s offered; wrk, hey and oha in a closed loop",
        "its own part: from the intended time or the moment a connection was free, whichever is later",
        "hey -q and oha -q --latency-correction at a rate; wrk has no rate; none of them reports its lateness",
    ]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(build_stone(), Path(folder), cpus[0], cpus[1])
        port = free_port()
        (bench.scratch / "nginx.conf").write_text(NGINX.format(dir=folder, port=port))
        command = ["nginx", "-p", folder, "-c", f"{folder}/nginx.conf"]
        with bench.server(command, port) as nginx:
            rows = cost(bench, port, peers(notes))
            rows.append(stall(bench, port, nginx))
        rows += overload(bench)
    report("load", rows, notes)


if __name__ == "__main__":
    main()
