"""Which functions of tracing the services' CPU goes to, from stacks that ``perf`` samples on all cores."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PACKAGE = "loadstone.dev/stone/platform/tracing."
INSTRUMENTS = ("loadstone.dev/stone/load", "loadstone.dev/stone/spans", "loadstone.dev/stone/node")
ENCODING = ("loadstone.dev/stone/otlp.", "go.opentelemetry.io/", "google.golang.org/protobuf/")
"""Packages whose work is that of their caller, tracing among others."""
MODULE = re.compile(r"[\w-]+(\.[\w-]+)+/")
"""How a function begins that is not of Go's own library."""
MOST = 5

Shares = Callable[[], list[tuple[str, float]]]


@contextmanager
def recording(file: Path, seconds: float) -> Iterator[Shares]:
    """Sample while the block runs, ``seconds`` at most; what is yielded gives the shares afterwards.

    Without ``perf``, or where the kernel refuses it, there are none.
    """
    found: list[tuple[str, float]] = []
    if shutil.which("perf") is None:
        yield lambda: found
        return
    command = ["perf", "record", "--all-cpus", "--event", "cpu-clock", "--freq", "297", "-g", "--output", str(file)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*command, "sleep", str(seconds)], **quiet) as process:  # type: ignore[call-overload]
        try:
            yield lambda: found
        finally:
            process.send_signal(signal.SIGINT)
    if file.exists():
        script = ["perf", "script", "--input", str(file), "--fields", "comm,ip,sym"]
        printed = subprocess.run(script, capture_output=True, text=True, check=False).stdout
        found += shares(printed.split("\n\n"))


def shares(samples: Iterable[str]) -> list[tuple[str, float]]:
    """The functions of tracing that work themselves, by their share of the services' samples, the most first.

    A sample is a line with the program's name and a line for each frame, innermost first: address and function.
    """
    total, of = 0, Counter[str]()
    for sample in samples:
        program, _, stack = sample.strip().partition("\n")
        functions = [line.split(maxsplit=1)[-1] for line in stack.splitlines()]
        if program.split()[:1] != ["stone"] or any(function.startswith(INSTRUMENTS) for function in functions):
            continue
        total += 1
        if function := _at_work(functions):
            of[function.removeprefix(PACKAGE)] += 1
    if not of:
        return []
    return [
        ("all of its functions", of.total() / total),
        *((name, of[name] / total) for name, _ in of.most_common(MOST)),
    ]


def _at_work(functions: Sequence[str]) -> str | None:
    """The function of tracing to which a stack's work belongs, None where it belongs to anything else.

    Tracing wraps handlers, clients and caches, so that most stacks hold one of its functions: what these call, of the
    application or of a library, is not its work. Its sender calls libraries, too, on goroutines of its own.
    """
    named = [function for function in functions if MODULE.match(function)]
    if named and named[-1].startswith(f"{PACKAGE}newSender"):
        return named[-1]
    inner = next((function for function in named if not function.startswith(ENCODING)), "")
    return inner if inner.startswith(PACKAGE) else None
