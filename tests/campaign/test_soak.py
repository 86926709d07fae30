"""A day in fast motion: after many trials of a small application a run holds what it held after a few."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import psutil
import pytest

from tests.campaign import studies
from tests.support import groups
from tests.support.users import User

pytestmark = [pytest.mark.system, pytest.mark.long, pytest.mark.timeout(4 * 3600)]

TRIALS = int(os.environ.get("SOAK_TRIALS", "1000"))
SETTLED = 0.2
"""The share of the trials after which nothing may grow any more: caches are filled then."""
MEMORY_PER_TRIAL = 32 << 10
"""Bytes that the desk may keep of a finished trial; its record is a part of them."""
MEMORY = ("desk_memory", "node_memory")
SPREAD = 6
"""By how much the lowest of a count may differ from one part of a run to another."""


@dataclass(frozen=True)
class Held:
    """What a run holds at a moment."""

    desk_descriptors: int
    desk_threads: int
    node_descriptors: int
    node_threads: int
    processes: int
    namespaces: int
    groups: int
    temporary_files: int
    desk_memory: int
    node_memory: int

    @classmethod
    def of(cls, user: User, desk: psutil.Process) -> Held:
        """What a run and all that it has started hold."""
        running = desk.children(recursive=True)
        node = next(child for child in desk.children() if child.name() == "stone" and "node" in child.cmdline())
        return cls(
            desk_descriptors=desk.num_fds(),
            desk_threads=desk.num_threads(),
            node_descriptors=node.num_fds(),
            node_threads=node.num_threads(),
            processes=sum(1 for process in running if not session(process)),
            namespaces=len(namespaces(running)),
            groups=sum(1 for made in groups.matching(f"loadstone/{studies.name(user)}*") for _ in os.walk(made)),
            temporary_files=sum(1 for _ in user.home.glob("tmp/**/*")),
            desk_memory=desk.memory_info().rss,
            node_memory=node.memory_info().rss,
        )


def session(process: psutil.Process) -> bool:
    """Whether it is a session of PostgreSQL: a service's pool keeps as many as it once used, up to its limit."""
    with contextlib.suppress(psutil.Error):  # it has just ended
        return " ".join(process.cmdline()).startswith("postgres: postgres")
    return False


def namespaces(running: list[psutil.Process]) -> set[str]:
    """All network, mount and process namespaces in which something of a run is."""
    found = set()
    for process in running:
        for kind in ("net", "mnt", "pid"):
            with contextlib.suppress(OSError):  # it has just ended
                found.add(os.readlink(f"/proc/{process.pid}/ns/{kind}"))
    return found


def samples(user: User, desk: psutil.Process) -> Iterator[tuple[int, Held]]:
    """How many trials are finished, and what is held, about once a trial."""
    trials, seen = None, 0
    while desk.is_running() and desk.status() != psutil.STATUS_ZOMBIE:
        trials = trials or next(iter(user.home.glob("results/*/*/trials")), None)
        finished = sum(Path(trial.path, "trial.json").exists() for trial in os.scandir(trials)) if trials else 0
        if finished > seen:
            seen = finished
            with contextlib.suppress(psutil.Error, StopIteration):  # it has just ended
                yield finished, Held.of(user, desk)
        time.sleep(0.5)


def test_nothing_grows_over_many_trials(user: User) -> None:
    studies.write(user, [40], trial={"duration": "1s", "repetitions": TRIALS})
    process = studies.start(user)
    readings = samples(user, psutil.Process(process.pid))
    held = [found for number, found in readings if SETTLED * TRIALS <= number < TRIALS]  # after the last it is removed
    assert process.wait(600) in (0, 4), (user.home / "log").read_text()
    verdicts = Counter(verdict for verdict, _ in studies.verdicts(user))
    fifth = max(1, len(held) // 5)
    between = TRIALS * (1 - SETTLED) * 0.8
    grown: dict[str, float] = {}
    for field in fields(Held):
        # A count swings within a trial, as seeders and generators come and go: what leaks raises the lowest.
        middle = statistics.median if field.name in MEMORY else min
        first = middle(getattr(each, field.name) for each in held[:fifth])
        last = middle(getattr(each, field.name) for each in held[-fifth:])
        grown[field.name] = last - first
        print(f"soak: {field.name}: {first:g} -> {last:g}")
    print(f"soak: {TRIALS} trials ({dict(verdicts)}), {len(held)} readings")
    assert verdicts.total() == TRIALS
    assert max(grown[name] for name in MEMORY) / between < MEMORY_PER_TRIAL, grown
    assert max(change for name, change in grown.items() if name not in MEMORY) <= SPREAD, grown
    assert studies.left(user) == []
