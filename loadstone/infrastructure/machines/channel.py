"""One channel to a node: requests and answers over a subprocess's standard input and output.

A thread writes and a thread reads, so a node that stops reading blocks no caller beyond a time limit. Requests may come
from any thread.
"""

from __future__ import annotations

import itertools
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any

from pydantic import ValidationError

from loadstone.infrastructure.machines import frames
from loadstone.infrastructure.machines.faults import MachineLost, NodeError
from loadstone.model.records.node.frames import PROTOCOL, Hello, Reply

Explain = Callable[[str], tuple[str, str]]
"""From what a transport wrote to its standard error to a sentence and a remedy."""
OnEvent = Callable[[dict[str, Any], bytes], None]
"""Receives the events of a request, with their raw bytes, in the thread that made it."""

_HELLO_WITHIN_S = 30.0
_CLOSED_WITHIN_S = 5.0
_LAST_BYTES = 4096


class Channel:
    """A node that runs, started by ``command``; ``within_s`` is how long its first line may take."""

    def __init__(self, name: str, command: Sequence[str], explain: Explain, within_s: float = _HELLO_WITHIN_S) -> None:
        self._name = name
        self._explain = explain
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the channel
        self._waiting: dict[int, queue.SimpleQueue[tuple[Reply, bytes] | None]] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._ended = ""
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                start_new_session=True,  # Ctrl-C at the desk is the desk's to handle
            )
        except OSError as error:
            self._complaints.close()
            raise MachineLost(f"{name}: {command[0]} cannot be started: {error.strerror}") from None
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._write, name=f"to {name}", daemon=True).start()
        self.hello = self._greeted(within_s)
        self._reader = threading.Thread(target=self._read, name=f"from {name}", daemon=True)
        self._reader.start()

    def loss(self) -> str:
        """Why no more requests can be made, as a sentence; empty while they can."""
        if self._process.poll() is None:
            return self._ended
        self._reader.join(_CLOSED_WITHIN_S)  # it finds out how the node ended
        return self._ended or f"{self._name}: its node has ended"

    def request(
        self,
        verb: str,
        args: dict[str, Any],
        payload: bytes = b"",
        within_s: float = 30.0,
        on_event: OnEvent | None = None,
    ) -> tuple[dict[str, Any], bytes]:
        """The answer to a request and its raw bytes.

        ``within_s`` is the longest time to each event and to the answer. A node that takes longer is taken for lost.
        Raises NodeError with the node's own error, MachineLost where there is no answer.
        """
        number = next(self._numbers)
        answers: queue.SimpleQueue[tuple[Reply, bytes] | None] = queue.SimpleQueue()
        frame = frames.pack({"id": number, "verb": verb, "args": args}, payload)
        with self._lock:
            if self._ended:
                raise MachineLost(self._ended)
            self._waiting[number] = answers
        self._outgoing.put(frame)
        answered = False
        try:
            while True:
                answer = answers.get(timeout=within_s)
                if answer is None:
                    raise MachineLost(self._ended)
                reply, raw = answer
                answered = reply.event is None
                if reply.error is not None:
                    raise NodeError(self._name, reply.error)
                if reply.ok is not None:
                    return reply.ok, raw
                if on_event is not None:
                    on_event(reply.event or {}, raw)
        except queue.Empty:
            self.end(f"{self._name}: its node did not answer {verb!r} within {within_s:g} s")
            raise MachineLost(self._ended) from None
        finally:
            if not answered and not self._ended:  # No caller waits for it any more, so the node cancels it.
                self._outgoing.put(frames.pack({"id": next(self._numbers), "verb": "cancel", "args": {"id": number}}))
            with self._lock:
                self._waiting.pop(number, None)

    def close(self) -> None:
        """End the node, and with it all that it runs for us. May be called twice."""
        self.end(f"{self._name}: its channel is closed")

    def end(self, why: str) -> None:
        """Close, for a reason that requests which wait are given."""
        with self._lock:
            first, self._ended = not self._ended, self._ended or why
            waiting = list(self._waiting.values())
        for answers in waiting:
            answers.put(None)
        if not first:
            return
        self._outgoing.put(None)
        try:
            self._process.wait(_CLOSED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._complaints.close()

    def _greeted(self, within_s: float) -> Hello:
        """The first line of the node; ends it and raises MachineLost where there is none, or another than expected."""
        assert self._process.stdout is not None
        late = threading.Timer(within_s, self._process.kill)
        late.daemon = True  # a desk that is interrupted here does not wait for it
        late.start()
        hello, why, remedy = None, "", ""
        try:
            if (frame := frames.read(self._process.stdout)) is not None:
                hello = Hello.model_validate(frame[0])
        except (frames.FrameError, ValidationError):
            why, remedy = "what answers is no `stone node` of this release", "see what its login writes on its own"
        if hello is None and not why:
            self._process.wait()
            expired = not late.is_alive()
            why, remedy = self._explain(self._last_output())
            why = f"no answer within {within_s:g} s" if expired else why
        late.cancel()
        if hello is not None and hello.protocol != PROTOCOL:
            why = f"its node speaks protocol {hello.protocol}, this release {PROTOCOL}"
            remedy = "rebuild the stone binary with `make .build/stone`"
        if hello is None or why:
            self.end(f"{self._name}: {why}")
            raise MachineLost(self._ended, remedy)
        return hello

    def _read(self) -> None:
        assert self._process.stdout is not None
        why = ""
        with self._process.stdout as stream:
            try:
                while not why and (frame := frames.read(stream)) is not None:
                    reply = Reply.model_validate(frame[0])
                    if reply.id is None:
                        why = reply.error.message if reply.error is not None else "an answer without id"
                        continue
                    with self._lock:
                        answers = self._waiting.get(reply.id)
                    if answers is not None:
                        answers.put((reply, frame[1]))
            except (frames.FrameError, ValidationError, OSError, ValueError) as error:
                why = f"its node does not keep to the protocol: {error}"
        self.end(f"{self._name}: {why or 'its node has ended' + self._because()}")

    def _because(self) -> str:
        """How the transport ended, and what it wrote last."""
        try:
            code = self._process.wait(_CLOSED_WITHIN_S)
        except subprocess.TimeoutExpired:
            return ""
        how = f" (killed by signal {-code})" if code < 0 else f" with exit code {code}" if code else ""
        output = "" if self._ended else self._last_output()
        return how + (f": {self._explain(output)[0]}" if output else "")

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as stream:
                while (frame := self._outgoing.get()) is not None:
                    stream.write(frame)
                    stream.flush()
        except (OSError, ValueError):
            pass  # it has ended: the reader says so

    def _last_output(self) -> str:
        """The end of what the transport wrote to its standard error."""
        file = self._complaints.fileno()
        size = os.fstat(file).st_size
        return os.pread(file, _LAST_BYTES, max(0, size - _LAST_BYTES)).decode(errors="replace").strip()
