"""What the benchmarks of the load generator share: NGINX on one core, ``stone load`` on another."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench.common import free_port

SECONDS, CONNECTIONS = 3, 64

NGINX = """daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log;
events {{ worker_connections 12000; }}
http {{ access_log off; keepalive_requests 1000000000;
  client_body_temp_path {dir}/1; proxy_temp_path {dir}/2; fastcgi_temp_path {dir}/3; uwsgi_temp_path {dir}/4;
  scgi_temp_path {dir}/5;
  server {{ listen 127.0.0.1:{port} backlog=1024; default_type text/plain; location / {{ return 200 "ok"; }} }} }}
"""


@dataclass(frozen=True)
class Spent:
    """What a generator used for so many requests."""

    requests: int
    usage: resource.struct_rusage

    @property
    def cpu_us(self) -> float:
        """CPU per request, user and system."""
        return (self.usage.ru_utime + self.usage.ru_stime) * 1e6 / self.requests

    @property
    def switches(self) -> float:
        """Context switches per request: its threads waited, or lost their core."""
        return (self.usage.ru_nvcsw + self.usage.ru_nivcsw) / self.requests


@dataclass(frozen=True)
class GeneratorBench:
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

    def observe(self, command: list[str]) -> tuple[str, resource.struct_rusage]:
        """Run a generator on its core; its output and the resources it used."""
        pinned = ["taskset", "-c", str(self.generator_cpu), *command]
        process = subprocess.Popen(pinned, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{command[0]} failed with {process.returncode}: {output[-500:]}")
        return output, usage

    def run(self, port: int, rate: float, seconds: float, **keys: Any) -> tuple[dict[str, Any], resource.struct_rusage]:
        """Run ``stone load`` with a plan; its summary and the resources it used. A key of None is left out."""
        plan = {
            "target": f"http://127.0.0.1:{port}", "connections": CONNECTIONS, "seed": 1, "cpus": [self.generator_cpu],
            "arrival": {"process": "poisson", "rate": rate}, "duration_s": seconds,
            "operations": [{"name": "two-bytes", "path": "/"}], **keys,
        }  # fmt: skip
        path = self.scratch / "plan.json"
        path.write_text(json.dumps({key: value for key, value in plan.items() if value is not None}))
        _, usage = self.observe([str(self.stone), "load", "--plan", str(path), "--out", str(self.scratch)])
        summary = json.loads((self.scratch / "summary.json").read_text())
        assert identity(summary["counts"]), summary["counts"]
        return summary, usage


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


@contextmanager
def nginx(bench: GeneratorBench) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """NGINX answering two bytes: its port and its process."""
    port, folder = free_port(), str(bench.scratch)
    (bench.scratch / "nginx.conf").write_text(NGINX.format(dir=folder, port=port))
    with bench.server(["nginx", "-p", folder, "-c", f"{folder}/nginx.conf"], port) as process:
        yield port, process
