"""Which functions of tracing the services' CPU goes to, from stacks that ``perf`` samples on all cores."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = "loadstone.dev/stone/platform/tracing."
INSTRUMENTS = ("loadstone.dev/stone/load", "loadstone.dev/stone/spans", "loadstone.dev/stone/node")
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
    """The outermost functions of tracing by their share of the services' samples, the most first.

    A sample is a line with the program's name and a line for each frame, innermost first: address and function.
    """
    total, of = 0, Counter[str]()
    for sample in samples:
        program, _, stack = sample.strip().partition("\n")
        functions = [line.split(maxsplit=1)[-1] for line in stack.splitlines()]
        if program.split()[:1] != ["stone"] or any(function.startswith(INSTRUMENTS) for function in functions):
            continue
        total += 1
        within = [function for function in functions if function.startswith(PACKAGE)]
        if within:
            of[within[-1].removeprefix(PACKAGE)] += 1
    return [(name, count / total) for name, count in of.most_common(MOST)]
