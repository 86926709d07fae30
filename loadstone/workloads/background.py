"""A load beside the measured one: ``stone load`` at a constant rate, which sends until it is ended."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import stone_binary
from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.stone import load_plan

_STARTED_S = 60.0
"""To connect and to begin, on a machine whose cores are all at work."""
_ENDED_S = 20.0
"""To write its files."""
_LOOK_S = 0.05
_MESSAGES = "messages.txt"
_REQUESTS = "requests.parquet"


class Background:
    """``start`` it, ``end`` it; its files are in the offer's folder. It ends with this process, even if that is killed.

    The offer lasts for ``duration_s`` at the longest and must record requests.
    """

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and return when it sends. Raises DriverError, and leaves no process behind then."""
        plan = self._offer.folder / "load.json"
        plan.write_text(json.dumps(load_plan(self._offer), indent=1))
        command = [str(stone_binary()), "load", "--plan", str(plan), "--out", str(self._offer.folder), "--progress"]
        with self._messages.open("w") as messages:
            self._process = subprocesses.start(command, stdout=subprocess.DEVNULL, stderr=messages)
        try:
            self._wait_until_it_sends()
        except BaseException:
            self.end()
            raise

    def _wait_until_it_sends(self) -> None:
        deadline = time.monotonic() + _STARTED_S
        while not any(line.startswith("{") for line in self._lines()):
            if ended := self.problem():
                raise DriverError(ended)
            if time.monotonic() > deadline:
                raise DriverError(f"it sent nothing within {_STARTED_S:g} s")
            time.sleep(_LOOK_S)

    def problem(self) -> str:
        """Why it does not send any more, as a sentence without its subject; empty while it does."""
        code = self._process.poll() if self._process is not None else None
        if code is None:
            return ""
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        printed = [line for line in self._lines() if not line.startswith("{")]
        return f"ended with {code}: {printed[-1].removeprefix('stone load: ') if printed else 'it printed nothing'}"

    def end(self) -> list[Path]:
        """End it; returns the files of its requests, one of each load worker. May be called twice."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGUSR1)
            try:
                process.wait(_ENDED_S)
            except subprocess.TimeoutExpired:
                subprocesses.stop(process)
        folder = self._offer.folder
        return [file for file in (folder / _REQUESTS, *folder.glob(f"workers/*/{_REQUESTS}")) if file.exists()]

    @property
    def _messages(self) -> Path:
        return self._offer.folder / _MESSAGES

    def _lines(self) -> list[str]:
        return self._messages.read_text(encoding="utf-8", errors="replace").splitlines()
