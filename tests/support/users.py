"""A person who runs the real command line, and what they leave behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

LOADSTONE = Path(sys.executable).parent / "loadstone"
REPOSITORY = Path(__file__).resolve().parents[2]

STUDY = """\
version: 1
name: system-test
application: docstore
load: {rates: [40, 60, 80], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 16}
trial: {warmup: 1s, duration: 3s, order: sequential}
"""


class User:
    """A person at a terminal in a scratch folder, with a state folder of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**os.environ, "LOADSTONE_STATE": str(home / "state"), "NO_COLOR": "1"}
        (home / "study.yaml").write_text(STUDY)

    def runs(self, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Run ``loadstone`` to its end and check its exit code."""
        result = subprocess.run(
            [LOADSTONE, *arguments], cwd=self.home, env=self.environment, text=True, capture_output=True, check=False
        )
        assert result.returncode == expect, result.stdout + result.stderr
        assert "Traceback" not in result.stderr + result.stdout
        return result

    def starts(self, *arguments: str) -> subprocess.Popen[str]:
        """Start ``loadstone`` and let it go on."""
        return subprocess.Popen(
            [LOADSTONE, *arguments],
            cwd=self.home,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def trials(self) -> dict[str, bool]:
        """Trial folders of the newest run, and whether each is finished."""
        folders = sorted(self.home.glob("results/*/*/trials/*"))
        return {folder.name: (folder / "trial.json").exists() for folder in folders}

    def rows(self) -> list[dict[str, Any]]:
        """The finished trials, in the order in which they ran."""
        files = self.home.glob("results/*/*/trials/*/trial.json")
        return sorted((json.loads(file.read_text())["row"] for file in files), key=lambda row: int(row["order"]))

    def waits_until_a_trial_is_loaded(self, process: subprocess.Popen[str], finished: int) -> None:
        """Wait until ``finished`` trials are in the ledger and requests of the next one are under way."""

        def under_way() -> bool:
            done = sum(self.trials().values())
            open_ = [
                p for p in self.home.glob("results/*/*/trials/*/load.json") if not (p.parent / "trial.json").exists()
            ]
            return done >= finished and bool(open_)

        wait(lambda: under_way() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        time.sleep(1.5)  # into the warm-up or the window


def wait(condition: Callable[[], bool], seconds: float = 600) -> None:
    """Poll until ``condition`` holds; the limit is for what hangs, not for what a busy machine does slowly."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


def ours(home: Path) -> list[str]:
    """Command lines of all processes that name a file below ``home`` or have one open, a log for instance."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            command = process.cmdline()
            files = [word for word in command if str(home) in word] or process.open_files()
            if any(str(home) in str(file) for file in files) and process.pid != os.getpid():
                found.append(" ".join(command))
    return sorted(found)


def descendants(pid: int, *marks: str) -> list[psutil.Process]:
    """Processes that a process has started, and those that these have, whose command line has all of ``marks``."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            if all(mark in " ".join(process.cmdline()) for mark in marks):
                found.append(process)
    return found


def empty_cgroups() -> list[str]:
    """Control groups below ``loadstone`` in which nothing runs, in any hierarchy: someone forgot to remove them."""
    root = Path("/sys/fs/cgroup")
    bases = [*root.glob("*/loadstone"), root / "loadstone"]
    groups = [path for base in bases if base.is_dir() for path in base.iterdir() if path.is_dir()]
    return sorted({group.name for group in groups} - {group.name for group in groups if _works(group)})


def _works(group: Path) -> bool:
    """Whether a process is in a group or below it; another's may vanish while we look."""
    for folder, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            if Path(folder, "cgroup.procs").read_text().strip():
                return True
    return False


def end(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Send a signal, wait, return exit code and all output."""
    process.send_signal(number)
    output, complained = process.communicate(timeout=600)
    return process.returncode, output + complained
