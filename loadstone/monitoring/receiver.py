"""The receiver of spans: ``stone spans`` beside the load generator, which takes orders on its standard input."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Any

from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.subprocesses import start, stop
from loadstone.model.errors import DeploymentError

_LISTENING = re.compile(r"listening on (\S+:\d+)\b")
_STARTED_WITHIN_S = 30.0


class ReceiverError(Exception):
    """It does not answer, or refuses an order; the text says why."""


class Receiver:
    """A child that dies with us. ``grpc`` and ``http`` are the addresses on which spans arrive.

    ``machine``: where it runs, by default here.
    """

    def __init__(self, arguments: Sequence[str], cpus: Sequence[int], machine: Machine | None = None) -> None:
        self._complaints: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the child
        command = [str(stone_binary()) if machine is None else machine.stone, "spans", "--control", *arguments]
        if machine is not None:
            command = machine.command(command)
        self._process = start(
            command, cpus, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, bufsize=1
        )
        try:
            self.grpc, self.http = self._address(), self._address()
        except BaseException:
            self.stop()
            raise

    def order(self, verb: str, values: dict[str, Any], within_s: float) -> dict[str, Any]:
        """The result of an order; a receiver that takes longer than ``within_s`` seconds is killed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"verb": verb} | values) + "\n")
        except OSError:
            raise ReceiverError(f"the receiver of spans has ended: {self._complaint()}") from None
        try:
            reply = json.loads(self._line(within_s))
        except ValueError:
            raise ReceiverError(f"the receiver of spans gave no answer to {verb!r}: {self._complaint()}") from None
        if "error" in reply:
            raise ReceiverError(reply["error"])
        return dict(reply["ok"])

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it; the trial that runs gets its file. May be called twice."""
        if self.alive():
            stop(self._process)
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            with contextlib.suppress(OSError):  # an order that it no longer reads
                assert pipe is not None
                pipe.close()

    def _address(self) -> str:
        found = _LISTENING.match(self._line(_STARTED_WITHIN_S))
        if found is None:
            raise DeploymentError(f"stone spans did not start: {self._complaint()}")
        return found.group(1)

    def _line(self, within_s: float) -> str:
        """The next line of its output; empty where it has ended."""
        assert self._process.stdout is not None
        late = threading.Timer(within_s, self._process.kill)
        late.start()
        try:
            return self._process.stdout.readline()
        finally:
            late.cancel()

    def _complaint(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read().strip()[-300:] or "it wrote nothing"
