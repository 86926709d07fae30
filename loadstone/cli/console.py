"""Consoles for text that others wrote, such as logs and error messages of programs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_CONTROL = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0)} - {ord("\t"), ord("\n")})
"""C0, DEL and C1 without tab and newline: what a terminal takes for commands."""


class SafeConsole(Console):
    """Drops control characters from all text: only its own styles and cursor movements reach the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=segment.text.translate(_CONTROL))


def _on_broken_pipe(console: Console) -> None:
    """Drop what is written from now on: the exit code stays that of the command, and not of its reader."""
    _drop(console.file)


# Of every console: typer prints help and errors of usage on its own, and Rich would exit with 1.
Console.on_broken_pipe = _on_broken_pipe  # type: ignore[assignment, method-assign]


class LossyConsole(SafeConsole):
    """Drops what cannot be written: a pipe whose reader has ended, a closed terminal, a full disk.

    Raises no OSError: progress and warnings go to it, and neither keeps what was started from being removed.
    """

    @property
    def file(self) -> IO[str]:
        return cast(IO[str], _LossyStream(super().file))

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new


class _LossyStream:
    """A text stream of which every other attribute is the wrapped stream's."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def drop_output() -> None:
    """Drop what is written to standard output from now on, and what it has not taken yet."""
    _drop(sys.stdout)


def drop_unwritten() -> None:
    """Drop what standard error could not take: Python would exit with code 120 where its last flush fails."""
    if sys.stderr is None:  # it was closed
        return
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def _drop(stream: IO[str]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
