"""Two measurements do not share a machine, and a killed one leaves nothing that has to be removed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from loadstone.infrastructure import measurement_lock
from loadstone.infrastructure.measurement_lock import measuring
from loadstone.model.errors import PreflightError

HOLDER = """
import sys
from loadstone.infrastructure import measurement_lock
measurement_lock._ADDRESS = "\\0" + sys.argv[1]
with measurement_lock.measuring():
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_address(monkeypatch: pytest.MonkeyPatch) -> str:
    """Other measurements of this machine are not the test's."""
    name = f"\0loadstone-test-{os.getpid()}"
    monkeypatch.setattr(measurement_lock, "_ADDRESS", name)
    return name


def test_a_second_measurement_is_refused_and_names_the_first(own_address: str) -> None:
    command = [sys.executable, "-c", HOLDER, own_address[1:]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "holds\n"
        refused = rf"process {holder.pid} of \S+ \(.*python(.|\n)*--shared-ok"
        with pytest.raises(PreflightError, match=refused), measuring():
            pass
        with measuring(shared_ok=True) as warning:
            assert f"process {holder.pid} of" in warning
        holder.kill()
    with measuring() as warning:
        assert warning == ""


def test_it_ends_with_its_block() -> None:
    for _ in range(2):
        with measuring() as warning:
            assert warning == ""


@pytest.mark.root
def test_from_inside_a_container_a_measurement_outside_has_no_number(own_address: str) -> None:
    inside = ["unshare", "--pid", "--fork", sys.executable, "-c", HOLDER, own_address[1:]]
    with measuring():
        done = subprocess.run(inside, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert "another measurement runs on this machine: a process of root in another container" in done.stderr
