"""System calls and context switches of the generators, per request: on virtual machines they are most of their CPU.

Calls are counted by ``perf stat`` in runs of their own, for counting makes every call dearer.
"""

from __future__ import annotations

import resource
import shutil
from dataclasses import dataclass

from bench.generator import GeneratorBench, Spent

EVENT = "raw_syscalls:sys_enter"


@dataclass(frozen=True)
class CountingBench(GeneratorBench):
    """Runs generators under ``perf stat``: time nothing with it."""

    def observe(self, command: list[str]) -> tuple[str, resource.struct_rusage]:
        options = ["-x,", "-e", EVENT, "-o", str(self.scratch / "calls.csv")]
        return super().observe(["perf", "stat", *options, "--", *command])

    def per_request(self, spent: Spent) -> float:
        """The calls of the run that has just ended, which took ``spent``."""
        counted = next(line for line in (self.scratch / "calls.csv").read_text().splitlines() if EVENT in line)
        return int(counted.split(",")[0]) / spent.requests


def counting(bench: GeneratorBench, notes: list[str]) -> CountingBench | None:
    """A bench that counts system calls; None, with the reason in the notes, where ``perf`` is missing or may not."""
    counter = CountingBench(bench.stone, bench.scratch, bench.generator_cpu, bench.server_cpu)
    if shutil.which("perf") is None:
        notes.append("system calls are left out: perf is not installed (apt install linux-perf)")
        return None
    try:
        counter.per_request(Spent(1, counter.observe(["true"])[1]))
    except (SystemExit, OSError, StopIteration, ValueError) as error:
        notes.append(f"system calls are left out: perf cannot count {EVENT} here: {error}")
        return None
    return counter
