"""A recorded tree that answers writes as Linux does, or worse: what some kernel forgets, this one forgets."""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.infrastructure.cores import format_cores, parse_cores
from loadstone.infrastructure.tuning import Host

SIBLINGS = {"cpu2": "cpu0", "cpu3": "cpu1"}
"""Second hardware threads by the first ones, where there are any."""
MANAGED = ("0", "9")
"""Interrupts that the kernel does not let go."""


def refuse(code: int) -> OSError:
    return OSError(code, os.strerror(code))


@dataclass(frozen=True)
class Kernel(Host):
    """``root`` is the tree; ``steps`` counts writes, before each."""

    tree: Path = Path("/nowhere")
    steps: Steps = field(default_factory=lambda: Steps())
    stubborn: frozenset[str] = frozenset()
    """Names of files that keep what they have, without a word."""

    @classmethod
    def of(cls, tree: Path, steps: Steps | None = None, stubborn: tuple[str, ...] = ()) -> Kernel:
        return cls(tree / "sys", tree / "proc", tree, steps or Steps(), frozenset(stubborn))

    @property
    def root(self) -> bool:
        return True

    def write(self, file: Path, text: str) -> None:
        self.steps.take()
        if not file.exists():
            raise refuse(errno.ENOENT)
        if file.name not in self.stubborn:
            self._answer(file, text)

    def _answer(self, file: Path, text: str) -> None:
        match file.name:
            case "control":
                self._threads(text == "on")
            case "no_turbo" | "boost":
                self._turbo(file, text)
            case "scaling_governor":
                self._governor(file, text)
            case "energy_performance_preference" if self.read(file.with_name("scaling_governor")) == "performance":
                raise refuse(errno.EBUSY)
            case "scaling_min_freq" | "scaling_max_freq" | "min_freq_khz" | "max_freq_khz":
                self._bound(file, text)
            case "enabled":
                put(file, " ".join(f"[{word}]" if word == text else word for word in ("always", "madvise", "never")))
            case "smp_affinity_list":
                self._interrupt(file, text)
            case "disable" | "numa_balancing" | "energy_performance_preference":
                put(file, text)
            case other:
                raise AssertionError(f"nobody should write {other}")

    def _governor(self, file: Path, text: str) -> None:
        if text not in (self.read(file.with_name("scaling_available_governors")) or "").split():
            raise refuse(errno.EINVAL)
        put(file, text)
        if (preference := file.with_name("energy_performance_preference")).exists():
            put(preference, "performance" if text == "performance" else "balance_performance")

    def _bound(self, file: Path, text: str) -> None:
        low, high = (file.with_name(file.name.replace("min", end).replace("max", end)) for end in ("min", "max"))
        lowest = int(text) if file == low else self.number(low) or 0
        highest = int(text) if file == high else self.number(high) or 0
        if lowest > highest:
            raise refuse(errno.EINVAL)
        limit = self.number(file.with_name("cpuinfo_max_freq"))
        put(file, str(min(int(text), limit) if limit else int(text) // 100_000 * 100_000))

    def _turbo(self, file: Path, text: str) -> None:
        """The highest frequency goes to the highest there is, whatever it was."""
        put(file, text)
        on = (text == "1") != (file.name == "no_turbo")
        for policy in self.cpu.glob("cpufreq/policy*"):
            base = policy / "base_frequency"
            highest = "3000000" if base.exists() and on else "2800000" if on else self.read(base) or "2000000"
            put(policy / "cpuinfo_max_freq", highest)
            put(policy / "scaling_max_freq", highest)
            if (self.number(policy / "scaling_min_freq") or 0) > int(highest):
                put(policy / "scaling_min_freq", highest)

    def _interrupt(self, file: Path, text: str) -> None:
        if file.parent.name in MANAGED:
            raise refuse(errno.EIO)
        if not set(parse_cores(text)) & set(parse_cores(self.read(self.cpu / "online") or "")):
            raise refuse(errno.EINVAL)
        put(file, format_cores(parse_cores(text)))

    def _threads(self, on: bool) -> None:
        """What belongs to threads that are off vanishes, and comes back as a start makes it."""
        cores = len(list(self.cpu.glob("cpu[0-9]*")))
        put(self.cpu / "smt/control", "on" if on else "off")
        put(self.cpu / "smt/active", str(int(on)))
        put(self.cpu / "online", format_cores(range(cores if on else cores - len(SIBLINGS))))
        for second in SIBLINGS:
            for name in (f"{second}/cpuidle", f"cpufreq/policy{second.removeprefix('cpu')}"):
                shown, hidden = self.cpu / name, self.tree / "hidden" / name
                there, where = (hidden, shown) if on else (shown, hidden)
                if there.exists():
                    where.parent.mkdir(parents=True, exist_ok=True)
                    there.rename(where)
            if on:
                self._fresh(second)
        if not on:  # interrupts that have no core left go to all
            online = self.read(self.cpu / "online") or ""
            for file in self.proc.glob("irq/*/smp_affinity_list"):
                if not set(parse_cores(self.read(file) or "")) & set(parse_cores(online)):
                    put(file, online)

    def _fresh(self, core: str) -> None:
        for file in (self.cpu / core).glob("cpuidle/state*/disable"):
            put(file, "0")
        policy = self.cpu / "cpufreq" / f"policy{core.removeprefix('cpu')}"
        put(policy / "scaling_governor", "powersave")
        put(policy / "energy_performance_preference", "balance_performance")
        put(policy / "scaling_min_freq", self.read(policy / "cpuinfo_min_freq") or "")
        put(policy / "scaling_max_freq", self.read(policy / "cpuinfo_max_freq") or "")

    def swap(self, device: str, on: bool, priority: int = -1) -> None:
        self.steps.take()
        table = self.proc / "swaps"
        lines = table.read_text().splitlines()
        off = self.tree / "off" / device.strip("/")
        if on:
            lines.append(off.read_text())
            off.unlink()
            asked_for = int(lines[-1].split()[-1])
            assert asked_for == priority or (asked_for < 0 and priority < 0)
        else:
            (index,) = (n for n, line in enumerate(lines) if line.startswith(device.replace(" ", "\\040")))
            off.parent.mkdir(parents=True, exist_ok=True)
            off.write_text(lines.pop(index))
        lines[1:] = sorted(lines[1:])  # so that trees can be compared
        put(table, "\n".join(lines))


class Steps:
    """Counts moments; at the ``last`` one the process is killed as by ``kill -9``."""

    def __init__(self, last: int | None = None) -> None:
        self.taken = 0
        self.last = last

    def take(self) -> None:
        self.taken += 1
        if self.taken == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def put(file: Path, text: str) -> None:
    file.write_text(f"{text}\n")
