"""Runs ``stone seed``: progress as sentences, the result as data, errors as exceptions."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from loadstone.infrastructure.machines import Machine

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
    machine: Machine | None = None,
) -> Any:
    """Run it to its end, without a time limit, on ``machine`` or here; returns its output, parsed.

    Leaves no process behind. The plan is its standard input: it holds the password of the stores, which is in no file.
    """
    command = [str(stone) if machine is None else machine.stone, "seed", seeding, "--plan", "-", *flags]
    if machine is not None:
        command = machine.command(command)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as printed,
    ):
        json.dump(plan, given)
        given.seek(0)
        with subprocess.Popen(
            command, stdin=given, stdout=printed, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        ) as process:
            try:
                messages = _relay(process.stderr or (), say)
                code = process.wait()
            except BaseException:
                process.kill()
                raise
        printed.seek(0)
        output = printed.read()
    if code == 0 or (code == NOT_AS_WANTED and "--check" in flags):
        return json.loads(output)
    raise SeedingFailed(messages.strip() or f"stone seed ended with exit code {code}")


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
