"""``loadstone watch`` lasts as long as its run."""

from __future__ import annotations

import fcntl
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cli.conftest import RunCommand
from tests.synthetic import Synthetic


def test_a_run_that_nothing_runs_has_a_report_already(say: RunCommand, tmp_path: Path) -> None:
    folder = Synthetic(name="watched", rates=[200]).write(tmp_path)
    code, _, complaint = say("watch", str(folder))
    assert code == 2 and f"is not being run; `loadstone report {folder}` writes its report" in complaint


@pytest.mark.servers
def test_it_ends_with_the_run(tmp_path: Path) -> None:
    folder = Synthetic(name="watched", rates=[200]).write(tmp_path)
    command = [str(Path(sys.executable).with_name("loadstone")), "watch", str(folder)]
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        watch = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert watch.stdout is not None
        found = re.match(r"watch: (http://127\.0\.0\.1:\d+/\S+/report/index\.html)\n", watch.stdout.readline())
        assert found is not None
        with urlopen(found[1], timeout=60) as answer:
            assert answer.status == 200
        assert watch.poll() is None
    _, complaint = watch.communicate(timeout=300)
    assert watch.returncode == 0 and "the run has ended" in complaint
