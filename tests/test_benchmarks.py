"""Benchmarks without running them, as some take hours: their layouts fit, and SIGTERM makes them clean up."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bench import frames, prediction, tracing
from loadstone.experiments.deployment import resolve_treatment
from loadstone.experiments.plan import make_plan
from loadstone.model.cluster import Node
from loadstone.model.document import Document
from loadstone.model.errors import PreflightError
from loadstone.orchestration.resolve import refuse_impossible

ROOT = Path(__file__).parents[1]
SLOW = """
import time
try:
    print("begun", flush=True)
    time.sleep(600)
finally:
    print("removed", flush=True)
"""
NODES = [
    Node(name="client", role="client", address="127.0.0.1", cpus=(0,), memory=2**33),
    Node(name="worker-1", role="worker", address="127.0.0.1", cpus=(1,), memory=2**34),
]
"""The nodes of a machine of two cores."""


@pytest.mark.parametrize("application", prediction.APPLICATIONS)
@pytest.mark.parametrize("name", prediction.TREATMENTS)
def test_every_predicted_treatment_can_be_deployed_on_a_machine_of_two_cores(application: str, name: str):
    changes = prediction.TREATMENTS[name].settings(application)
    study = prediction.study_of(application, "bench", changes, start=100.0, modelled=False)
    plan = make_plan(Document(yaml.safe_dump(study), "bench/prediction"))
    (treatment,) = plan.treatments
    found = resolve_treatment(plan.deployable(treatment), NODES, "bench")
    refuse_impossible(found)
    assert {replica.node for replica in found.replicas} == {"worker-1"}


def test_a_treatment_that_no_node_has_room_for_is_found_here():
    study = prediction.study_of("social-network", "bench", ("scaling=vertical",), start=100.0, modelled=False)
    plan = make_plan(Document(yaml.safe_dump(study), "bench/prediction"))
    found = resolve_treatment(plan.deployable(plan.treatments[0]), NODES, "bench")
    with pytest.raises(PreflightError, match="vertical doubles every limit"):
        refuse_impossible(found)


def stack(*functions: str, program: str = "stone") -> str:
    """A sample of ``perf script``, innermost first."""
    return "\n".join([f"{program} ", *(f"    7f00{number:04x} {name}" for number, name in enumerate(functions))])


TRACING, HANDLER = frames.PACKAGE, "loadstone.dev/stone/apps/social/posts.(*Store).Read"
THRIFT = "github.com/apache/thrift/lib/go/thrift.(*TStandardClient).Call"
WRAPPER, SERVER = f"{TRACING}(*Tracing).process.func1", "net/http.(*conn).serve"


def test_tracing_is_charged_with_its_own_work_and_not_with_what_it_wraps():
    found = frames.shares(
        [
            stack("runtime.mallocgc", f"{TRACING}(*Tracing).start", WRAPPER, SERVER),
            stack("runtime.memmove", "google.golang.org/protobuf/encoding/protowire.AppendTag",
                  "loadstone.dev/stone/otlp.Append", f"{TRACING}(*Span).End", WRAPPER, SERVER),
            stack("runtime.futex", "google.golang.org/grpc.(*ClientConn).Invoke", f"{TRACING}newSender.gowrap1"),
            stack("syscall.Syscall", HANDLER, WRAPPER, SERVER),
            stack("syscall.Syscall", THRIFT, f"{TRACING}(*thriftClient).Call", HANDLER, WRAPPER, SERVER),
            stack("epoll_wait"),
            stack("runtime.mallocgc", "loadstone.dev/stone/load.(*loadThread).run"),
            stack("mallocgc", WRAPPER, program="postgres"),
        ]
    )  # fmt: skip
    assert found == [
        ("all of its functions", 0.5),
        *((name, pytest.approx(1 / 6)) for name in ("(*Tracing).start", "(*Span).End", "newSender.gowrap1")),
    ]


@pytest.mark.parametrize(
    ("low", "high", "narrow", "holds"),
    [
        (-0.166, 0.002, False, True),
        (0.021, 0.119, False, False),
        (0.01, 0.03, True, None),
        (0.0, 0.02, True, True),
        (-0.3, 0.3, False, None),
    ],
)
def test_pairs_are_added_until_the_interval_is_narrow_wherever_it_lies(
    low: float, high: float, narrow: bool, holds: bool | None
):
    cost = tracing.Cost(1.0, 1.0, (low + high) / 2, low, high, 6)
    assert (tracing.narrow_enough(cost, 0.02), tracing.holds(cost, 0.02)) == (narrow, holds)


def test_a_benchmark_that_does_not_exist_is_an_error():
    done = subprocess.run([sys.executable, "-m", "bench", "nothing"], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 1 and done.stderr.startswith("usage: python -m bench NAME")


def test_a_benchmark_that_is_terminated_removes_what_it_made(tmp_path: Path):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/__init__.py").touch()
    shutil.copy(ROOT / "bench/__main__.py", tmp_path / "bench")
    (tmp_path / "bench/slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "bench", "slow"]
    process = subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGTERM)
    output, complained = process.communicate(timeout=600)
    assert (output, complained, process.returncode) == ("removed\n", "", 128 + signal.SIGTERM)


STUDY = """
import signal, sys
from bench import runs
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where the tests run in the background
runs.exit_code([sys.executable, "-c", *sys.argv[1:]], {})
"""
CLEANS_UP = """
import os, psutil, signal, sys, time
def remove(*_):
    time.sleep(1)  # longer than subprocess.run waits
    print("removed", file=open(sys.argv[1], "w"), flush=True)
    sys.exit(130)
signal.signal(signal.SIGTERM, remove)
while psutil.Process(os.getppid()).status() != psutil.STATUS_SLEEPING:  # as it waits for this
    time.sleep(0.01)
print("begun", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_benchmark_lets_its_study_clean_up(tmp_path: Path, number: signal.Signals):
    command = [sys.executable, "-c", STUDY, CLEANS_UP, str(tmp_path / "left")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        process.send_signal(number)
    assert process.returncode != 0
    assert (tmp_path / "left").read_text() == "removed\n"
