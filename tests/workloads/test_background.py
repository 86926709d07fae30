"""A load beside the measured one, from the real generator: it sends until it is ended, and says why it stopped."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from loadstone.analysis import recorded_requests
from loadstone.model.load import Load
from loadstone.model.records.observed import MeasuredWindow
from loadstone.model.workload import Workload
from loadstone.workloads.background import Background
from loadstone.workloads.base import DriverError, Offer
from tests.support.users import descendants

WORKLOAD = Workload.model_validate({"operations": {"get": {"path": "/"}}})


def background(target: str, folder: Path, duration_s: float = 600.0) -> Background:
    load = Load(arrival="constant", rates=[50], wait="tick", connections=4, record_requests=True)
    return Background(
        Offer(
            targets=(target,),
            workload=WORKLOAD,
            load=load,
            rate=50,
            clients=None,
            warmup_s=0.0,
            duration_s=duration_s,
            seed=1,
            may_stop=False,
            cpus=(),
            folder=folder,
        )
    )


def of(folder: Path) -> psutil.Process:
    [process] = descendants(os.getpid(), str(folder / "load.json"))
    return process


def eventually(running: Background) -> str:
    deadline = time.monotonic() + 60
    while not running.problem():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return running.problem()


def test_it_sends_until_it_is_ended_and_its_requests_are_those_of_the_window(server: str, tmp_path: Path) -> None:
    running = background(server, tmp_path)
    running.start()
    process = of(tmp_path)
    from_ns = time.time_ns()
    time.sleep(1)
    to_ns = time.time_ns()
    assert running.problem() == ""
    files = running.end()
    assert not process.is_running() and running.end() == files
    found = recorded_requests.within(files, MeasuredWindow(from_ns=from_ns, to_ns=to_ns), "shop", "orders", 50)
    assert abs(found.offered - 50 * found.window_s) <= 1
    parts = (found.completed, found.late, found.errors, found.timeouts, found.unsent, found.in_flight)
    assert sum(parts) == found.offered and found.completed
    assert found.p50_ms is not None and found.p99_ms is not None and 0 < found.p50_ms <= found.p99_ms


def test_one_that_is_killed_says_so(server: str, tmp_path: Path) -> None:
    running = background(server, tmp_path)
    running.start()
    of(tmp_path).send_signal(signal.SIGKILL)
    assert eventually(running) == "was killed by SIGKILL"
    assert running.end() == []


def test_one_whose_time_is_over_has_stopped(server: str, tmp_path: Path) -> None:
    running = background(server, tmp_path, duration_s=0.2)
    running.start()
    assert eventually(running).startswith("ended with 0")
    running.end()


def test_one_that_reaches_nothing_does_not_start(tmp_path: Path) -> None:
    running = background("127.0.0.1:9", tmp_path)
    with pytest.raises(DriverError, match=r"ended with 3: .*127\.0\.0\.1:9"):
        running.start()
    assert descendants(os.getpid(), "load.json") == []
