"""A recording of a machine's counters, which lasts until it is ended."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from loadstone.model.errors import LoadstoneError
from loadstone.model.records.node.frames import Nothing
from loadstone.model.records.node.replicas import UnwatchArgs, WatchArgs, Watched, WatchedPart, Watching

_BETWEEN_PARTS_S = 35.0
"""Beyond a period: a machine sends what it has read every 5 s. One that is silent for so much longer is lost."""


class Watch:
    """Begun by ``Machine.watch``, which raises what the machine refuses.

    What a machine has recorded arrives every few seconds: ``files`` has what arrived, also of a machine that is lost.
    """

    def __init__(self, ask: Callable[..., tuple[Any, bytes]], args: WatchArgs) -> None:
        self.files: list[bytes] = []
        """Parquet files, each whole, in order of time."""
        self.watched: Watched | None = None
        """How it went; None until it has ended, and where it was cut off."""
        self.problem = ""
        """Why it was cut off; empty if it was not."""
        self._ask = ask
        self._pieces: list[bytes] = []
        self._begun: queue.SimpleQueue[Watching | LoadstoneError] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._record, args=[args], name="watch", daemon=True)
        self._thread.start()
        begun = self._begun.get()
        if isinstance(begun, LoadstoneError):
            raise begun
        self._id = begun.id

    def end(self) -> None:
        """Have the machine make a last reading and send it; returns once it has, or is lost. May be called twice."""
        if self._thread.is_alive():
            try:
                self._ask("unwatch", UnwatchArgs(id=self._id), Nothing)
            except LoadstoneError as error:  # where it is lost, the recording's own request fails as well
                self.problem = self.problem or error.first_line
        self._thread.join()

    def _record(self, args: WatchArgs) -> None:
        within_s = args.period_ms / 1000 + _BETWEEN_PARTS_S
        try:
            self.watched = self._ask("watch", args, Watched, within_s=within_s, on_event=self._receive)[0]
        except LoadstoneError as error:
            self.problem = error.first_line
            self._begun.put(error)

    def _receive(self, event: dict[str, Any], payload: bytes) -> None:
        if not payload:
            self._begun.put(Watching.model_validate(event))
            return
        self._pieces.append(payload)
        if WatchedPart.model_validate(event).last:
            self.files.append(b"".join(self._pieces))
            self._pieces.clear()
