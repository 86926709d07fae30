"""Runs ``stone seed``: its progress as sentences, its result as data, its errors in its own words."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from loadstone.infrastructure.machines import Machine

NOT_AS_WANTED = 4
"""The exit code where stores do not hold what they should; of a check, its rows say so too."""


class SeedingFailed(Exception):
    """In the words of ``stone seed``."""


_ELSEWHERE = """
umask 077
plan=$(mktemp)
trap 'rm -f "$plan"' EXIT
cat >"$plan"
app=$1
shift
"$0" seed "$app" --plan "$plan" "$@"
"""
"""The plan is the input: it has the passwords of stores, and is not left on a host."""


def stone_seed(
    stone: Path,
    seeding: str,
    plan: Path,
    flags: tuple[str, ...],
    say: Callable[[str], None],
    machine: Machine | None = None,
) -> Any:
    """One run to its end, however long it takes, on ``machine``, else here; returns what it printed.

    Leaves no process behind.
    """
    command = [str(stone), "seed", seeding, "--plan", str(plan), *flags]
    if machine is not None:
        command = machine.command(["sh", "-c", _ELSEWHERE, machine.stone, seeding, *flags])
    with (
        plan.open("rb") as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as printed,
        subprocess.Popen(
            command, stdin=given, stdout=printed, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        ) as process,
    ):
        try:
            words = _relay(process.stderr or (), say)
            code = process.wait()
        except BaseException:
            process.kill()
            raise
        printed.seek(0)
        said = printed.read()
    if code == 0 or (code == NOT_AS_WANTED and "--check" in flags):
        return json.loads(said)
    raise SeedingFailed(words.strip() or f"stone seed ended with exit code {code}")


def _relay(lines: Iterable[str], say: Callable[[str], None]) -> str:
    """Tell progress in steps of ten per cent, ``seeding: users 40 %``; return all other lines, which are words.

    Nothing is told of the first tenth: what is over at once, as a reset in each trial, needs no progress.
    """
    words, told = [], ""
    for line in lines:
        if line.startswith("{"):
            with contextlib.suppress(ValueError, KeyError, TypeError, ZeroDivisionError):
                progress = json.loads(line)
                tenths = 10 * progress["done"] // progress["of"]
                sentence = f"seeding: {progress['what']} {10 * tenths} %"
                if tenths and sentence != told:
                    say(told := sentence)
                continue
        words.append(line)
    return "".join(words)
