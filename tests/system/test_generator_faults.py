"""Faults of the load generator, made on purpose, against a server that answers at once: none passes for the server's.

On a busy machine other stalls come by as well, of the generator and of the server. So each fault is big, and what is
asserted is true whatever else happens: what the fault alone caused is counted as the generator's, and the verdict is
never *not held* unless the server itself broke the objective; then the fault is made again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiments.verdict import Verdict, judge
from loadstone.infrastructure.binary import stone_binary
from loadstone.model.records.summary import TrialSummary
from loadstone.model.slo import Slo

pytestmark = pytest.mark.system

Fault = Callable[[int], None]
"""Given the process id, once the window has begun."""
HOGS = """\
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
for _ in range(int(sys.argv[2]) - 1):
    if os.fork() == 0:
        break
else:
    print("there", flush=True)
while True: pass
"""
PAUSING = """\
local n = 0
function request()
  n = n + 1
  if n == 600 then
    local from = os.clock()
    while os.clock() - from < 0.6 do end
  end
  return wrk.format("GET", "/")
end
function response(status, headers, body) end -- so that requests are made only just before they are due
"""


@contextmanager
def echo() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([stone_binary(), "echo"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()


def offer(folder: Path, fault: Fault, at_server: bool = False, **keys: Any) -> dict[str, Any]:
    """The summary of 500 requests a second, a fault two seconds into the window or later."""
    with echo() as server:
        assert server.stdout is not None
        plan = {
            "target": f"http://{server.stdout.readline().split()[-1]}",
            "arrival": {"process": "constant", "rate": 500},
            "warmup_s": 0.5,
            "duration_s": 6,
            "operations": [{"name": "home", "path": "/"}],
            **keys,
        }
        folder.mkdir()
        (folder / "plan.json").write_text(json.dumps({key: value for key, value in plan.items() if value is not None}))
        command = [stone_binary(), "load", "--plan", folder / "plan.json", "--out", folder / "out", "--progress"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as load:
            assert load.stderr is not None
            try:
                for line in load.stderr:
                    if line.startswith("{") and json.loads(line).get("t", 0) >= 2:
                        fault(server.pid if at_server else load.pid)
                        break
                errors = load.stderr.read()
            finally:
                load.kill()
        assert load.returncode == 0, errors
    summary: dict[str, Any] = json.loads((folder / "out" / "summary.json").read_text())
    return summary


def stop(seconds: float) -> Fault:
    def fault(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    return fault


def hogs(number: int, cpu: int, seconds: float, nice: int) -> Fault:
    """Other processes on the same CPU; the generator gets the given niceness."""

    def fault(pid: int) -> None:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), nice)
        command = [sys.executable, "-c", HOGS, str(cpu), str(number)]
        # A group, not a session: the kernel may give sessions equal shares, whatever their processes' niceness.
        with subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0) as process:
            assert process.stdout is not None
            try:
                process.stdout.readline()
                time.sleep(seconds)
            finally:
                os.killpg(process.pid, signal.SIGKILL)

    return fault


def trial(tmp_path: Path, slo: dict[str, str], fault: Fault, **keys: Any) -> tuple[dict[str, Any], Verdict]:
    """The summary and the verdict; the trial is repeated if the server itself broke the objective."""
    objective = Slo.model_validate(slo)
    percentile, limit_ms = objective.strictest
    plan = {"slo": {"percentile": percentile, "latency_ms": limit_ms}, **keys}
    for attempt in range(5):
        summary = offer(tmp_path / str(attempt), fault, **plan)
        by = summary["by_generator"]
        assert 0 <= by["unsent"] <= by["violations"] <= summary["violations"]
        if summary["violations"] - by["violations"] <= summary["planned"] * (1 - percentile / 100):
            break
    return summary, judge(TrialSummary.model_validate(summary), objective)


def test_a_stall_of_a_tenth_of_a_second_is_not_the_servers(tmp_path: Path) -> None:
    """Less than 1 % of requests are late, so P99 says nothing; the objective is at P99.9."""
    keys = {"arrival": {"process": "poisson", "rate": 500}, "duration_s": 15, "seed": 5}
    summary, verdict = trial(tmp_path, {"p999": "50ms"}, stop(0.11), **keys)
    assert verdict.verdict == "invalid"
    assert "the load generator alone made the difference" in verdict.reasons[0] or "sent late" in verdict.reasons[0]
    assert summary["by_generator"]["violations"] >= 10, "some 30 were due in the first 60 ms of it"
    assert summary["generator"]["own_lateness_slo_ms"] > 50


@pytest.mark.parametrize("connections", [4, 64])
def test_a_stall_of_a_second_is_charged_for_the_whole_backlog(tmp_path: Path, connections: int) -> None:
    """Also with few connections, though most of the backlog waits for one once the burst has begun."""
    summary, verdict = trial(tmp_path, {"p99": "300ms"}, stop(1), connections=connections, abort=True)
    assert verdict.verdict == "invalid"
    assert "sent late" in verdict.reasons[0], verdict.reasons
    assert summary["by_generator"]["violations"] >= 300, "350 were due in the first 700 ms of it"
    assert summary["generator"]["own_lateness_p99_ms"] > 500
    assert summary["aborted"] is None, "what the generator alone caused stops nothing"
    assert summary["counts"]["offered"] == summary["planned"] == 3000


def test_a_stall_up_to_the_end_leaves_requests_unsent_by_the_generator(tmp_path: Path) -> None:
    summary, verdict = trial(tmp_path, {"p99": "300ms"}, stop(7), drain_s=0.5)
    assert summary["counts"]["unsent"] >= summary["by_generator"]["unsent"] >= 500
    assert verdict.verdict == "invalid"
    assert any("although a connection was free" in reason for reason in verdict.reasons), verdict.reasons


def test_a_stall_of_the_server_stays_the_servers(tmp_path: Path) -> None:
    slo = {"percentile": 99, "latency_ms": 300}
    summary = offer(tmp_path / "run", stop(1.5), at_server=True, slo=slo, connections=8)
    assert summary["violations"] >= 500, "600 were due in the first 1.2 s of it"
    assert summary["by_generator"]["violations"] < 0.5 * summary["violations"]
    if summary["generator"]["own_lateness_p99_ms"] <= 30:
        assert judge(TrialSummary.model_validate(summary), Slo.model_validate({"p99": "300ms"})).verdict == "not held"


def test_a_hog_on_its_cpu_is_named(tmp_path: Path) -> None:
    """Eight hogs leave 0.2 % of the CPU by their niceness; the load thread needs several times as much."""
    cpu = min(os.sched_getaffinity(0))
    summary, verdict = trial(tmp_path, {"p99": "100ms"}, hogs(8, cpu, 3, nice=19), cpus=[cpu], wait="precise")
    assert verdict.verdict == "invalid"
    assert "the load generator" in verdict.reasons[0]
    if summary["generator"]["run_delay_share"] is not None:
        assert summary["generator"]["run_delay_share"] > 0.2
        assert "a load thread waited for a CPU" in verdict.reasons[0], verdict.reasons


def test_polling_is_reported_from_work_while_a_hog_shares_the_cpu(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    summary = offer(tmp_path / "run", hogs(1, cpu, 4, nice=0), cpus=[cpu], wait="spin")
    assert 0.001 < summary["generator"]["cpu_share"] < 0.9


def test_a_script_that_pauses_is_named(tmp_path: Path) -> None:
    (tmp_path / "load.lua").write_text(PAUSING)
    script = {"path": str(tmp_path / "load.lua")}
    summary, verdict = trial(tmp_path, {"p99": "200ms"}, lambda pid: None, script=script, operations=None)
    assert verdict.verdict == "invalid"
    assert "the script could not keep up" in verdict.reasons[0]
    assert 200 <= summary["generator"]["script_starved"] <= summary["counts"]["offered"], "300 were due in 600 ms"
    assert summary["by_generator"]["violations"] >= 100
