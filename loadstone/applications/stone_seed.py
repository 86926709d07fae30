"""Runs ``stone seed``: progress as sentences, the result as data, errors as exceptions."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from loadstone.infrastructure.subprocesses import Watchdog, start, stop
from loadstone.orchestration.base import Place

_SILENT_S = 600.0
NOT_AS_WANTED = 4
"""The exit code where the stores' content is not as expected; the rows of a check have the details."""


class SeedingFailed(Exception):
    """``stone seed`` failed; the text is its message."""


def stone_seed(
    stone: Path,
    seeding: str,
    plan: Mapping[str, Any],
    flags: tuple[str, ...],
    say: Callable[[str], None],
    place: Place | None = None,
) -> Any:
    """Run it to its end at a place or here; returns its output, parsed. Leaves no process behind.

    The plan is its standard input: it holds the password of the stores, which is in no file. How long it takes depends
    on the dataset; one that reports no progress for ten minutes is killed.
    """
    command = [str(stone) if place is None else place.stone, "seed", seeding, "--plan", "-", *flags]
    if place is not None:
        command = place.command(command)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as printed,
    ):
        json.dump(plan, given)
        given.seek(0)
        with (
            start(command, stdin=given, stdout=printed, stderr=subprocess.PIPE, encoding="utf-8") as process,
            Watchdog(process, _SILENT_S) as watchdog,
        ):
            try:
                messages = _relay(_renewing(process.stderr or (), watchdog), say)
                code = process.wait()
            except BaseException:
                stop(process)
                raise
        printed.seek(0)
        output = printed.read()
    if code == 0 or (code == NOT_AS_WANTED and "--check" in flags):
        return json.loads(output)
    if watchdog.expired:
        raise SeedingFailed(f"`stone seed {seeding}` reported no progress for {_SILENT_S:g} s")
    raise SeedingFailed(messages.strip() or f"stone seed ended with exit code {code}")


def _renewing(lines: Iterable[str], watchdog: Watchdog) -> Iterator[str]:
    """The lines; each is progress."""
    for line in lines:
        watchdog.renew()
        yield line


def _relay(lines: Iterable[str], say: Callable[[str], None]) -> str:
    """Report progress in steps of ten per cent, ``seeding: users 40 %``; return all other lines, which are messages.

    The first tenth is not reported: short jobs, such as a reset in each trial, need no progress.
    """
    messages, last = [], ""
    for line in lines:
        if line.startswith("{"):
            with contextlib.suppress(ValueError, KeyError, TypeError, ZeroDivisionError):
                progress = json.loads(line)
                tenths = 10 * progress["done"] // progress["of"]
                sentence = f"seeding: {progress['what']} {10 * tenths} %"
                if tenths and sentence != last:
                    say(last := sentence)
                continue
        messages.append(line)
    return "".join(messages)
