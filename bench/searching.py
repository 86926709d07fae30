"""Many capacity searches in step, each against a simulated server, with what CPU its trials took as a hint."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench import queueing
from loadstone.analysis.confirmation import Confirmation, rounds
from loadstone.experiments.next_trial import NextTrial, Outcome, readable
from loadstone.experiments.search import Search, SearchFailed, SearchResult, expected_trials, next_probe

OVERHEAD_S, FINE_S, SHORT_S = 10.0, 30.0, 10.0
BIAS, NOISE, FIXED = 0.1, 0.02, 0.02
"""Errors of a hint: a search's own bias (+-20 % in 95 % of them), a trial's noise, and CPU that no request uses."""
ABSENT, WILD = 0.1, 0.05
"""Shares of searches without hints, and with hints that are off by a factor of 3, up or down, from trial to trial."""

REFERENCE_MS, TIMING = 3.0, 0.03
"""The usual time of a computation, and its relative error in a trial."""

SLOW_TRIALS, SLOW_FROM = 12, 40
"""A bad minute or two of a machine, as beside another guest of its host."""

Floats = NDArray[np.float64]
Timed = Literal["not", "as fast", "apart"]


@dataclass
class SimulatedSearch:
    """A search under way. ``spent`` and ``unaborted`` in seconds, with and without stopping lost trials early."""

    settings: Search
    bias: float
    """The bias of its hints; 0 where there are none, infinite where they are wild."""
    history: list[Outcome] = field(default_factory=list)
    slow_from: int = 0
    """Trials before the machine is slow for a while."""
    speed: float = 1.0
    """The speed of the server in its last trial."""
    spent: float = 0.0
    unaborted: float = 0.0
    expected: tuple[int, float] | None = None
    """Trials done and trials still expected, when the bracket was found."""
    result: SearchResult | SearchFailed | None = None


def starts(count: int, rng: np.random.Generator) -> list[float]:
    """Start loads that put the truth anywhere within a doubling."""
    return [readable(float(load)) for load in np.exp(rng.uniform(np.log(50), np.log(200), count))]


def begin(
    count: int, rng: np.random.Generator, hints: bool = True, precision: float = Search.precision
) -> list[SimulatedSearch]:
    """``count`` searches that have not begun."""
    kinds, biases = rng.random(count), np.exp(rng.normal(0, BIAS, count))
    biases = np.where(kinds < ABSENT, 0.0, np.where(kinds > 1 - WILD, np.inf, biases)) if hints else np.zeros(count)
    settings = [
        Search(start=start, precision=precision, fine_s=FINE_S, bracket_s=SHORT_S) for start in starts(count, rng)
    ]
    slow_from = rng.integers(0, SLOW_FROM, count)
    return [
        SimulatedSearch(setting, float(bias), slow_from=int(first))
        for setting, bias, first in zip(settings, biases, slow_from, strict=True)
    ]


@dataclass(frozen=True)
class World:
    """What is searched: a server, and how its speed differs between equal trials."""

    server: queueing.QueueServer
    spread: float
    shape: queueing.Shape = "normal"
    slow: float = 1.0
    """The speed of the machine in ``SLOW_TRIALS`` in a row, which begin anywhere in the first ``SLOW_FROM``."""
    timed: Timed = "not"
    """How a computation that is timed during each trial depends on the server's speed, if there is one; ``apart``: it
    strays as far, and has nothing to do with it."""

    def reference_ms(self, speed: float, rng: np.random.Generator) -> float | None:
        """The time of the computation in a trial in which the server has this speed."""
        if self.timed == "not":
            return None
        seen = speed if self.timed == "as fast" else np.exp(rng.normal(0, self.spread))
        return float(REFERENCE_MS / seen * np.exp(rng.normal(0, TIMING)))


def finish(searches: list[SimulatedSearch], world: World, rng: np.random.Generator) -> None:
    """Run all searches to their end."""
    while going := [search for search in searches if search.result is None]:
        due: dict[float, list[tuple[SimulatedSearch, NextTrial]]] = defaultdict(list)
        for each in going:
            step = next_probe(each.settings, each.history)
            if not isinstance(step, NextTrial):
                each.result = step
                continue
            if step.phase == "fine" and each.expected is None:
                each.expected = (len(each.history), expected_trials(each.settings, each.history))
            due[step.duration_s].append((each, step))
        _run(due, world, rng)


def confirm_changed(
    searches: list[SimulatedSearch], factor: float, world: World, rng: np.random.Generator
) -> list[bool]:
    """Whether each search's confirmation contradicts when the server is ``factor`` times as fast from there on."""
    again = [SimulatedSearch(search.settings, search.bias, _before_confirmation(search.history)) for search in searches]
    going = again
    while going:
        due: dict[float, list[tuple[SimulatedSearch, NextTrial]]] = defaultdict(list)
        for each in going:
            step = next_probe(each.settings, each.history)
            if isinstance(step, NextTrial) and step.phase == "confirm":
                due[step.duration_s].append((each, step))
        going = [each for some in due.values() for each, _ in some]
        _run(due, world, rng, factor)
    return [contradicted(each) for each in again]


def contradicted(search: SimulatedSearch) -> bool:
    """Whether the first confirmation of a search contradicts its estimate."""
    judged = judged_of(search)
    return judged is not None and judged.verdict == "contradicted"


def judged_of(search: SimulatedSearch) -> Confirmation | None:
    """The verdict of the first confirmation of a search; None where there is none."""
    found = rounds((outcome.phase, outcome.evidence) for outcome in search.history)
    return found[0].judge(search.settings.precision) if found else None


def reached_confirmation(search: SimulatedSearch) -> bool:
    """Whether a search confirmed at all."""
    return any(outcome.phase == "confirm" for outcome in search.history)


def _before_confirmation(history: list[Outcome]) -> list[Outcome]:
    first = next((i for i, outcome in enumerate(history) if outcome.phase == "confirm"), len(history))
    return history[:first]


def _run(
    due: dict[float, list[tuple[SimulatedSearch, NextTrial]]],
    world: World,
    rng: np.random.Generator,
    factor: float = 1.0,
) -> None:
    for seconds, probes in due.items():
        before = np.array([search.speed for search, _ in probes])
        speed = queueing.speeds(world.spread, world.shape, before, rng)
        slow = [0 <= len(search.history) - search.slow_from < SLOW_TRIALS for search, _ in probes]
        speed = speed * np.where(slow, world.slow, 1.0)
        done = queueing.run(world.server, np.array([p.load for _, p in probes]), seconds, factor * speed, rng)
        for (search, probe), ok, length_s, fast in zip(probes, *done, speed, strict=True):
            search.speed = float(fast)
            # A trial that was stopped has no throughput, so it does not measure the CPU of its load.
            hint = _hint(search.bias, probe.load, factor * search.speed * world.server.nominal, rng) if ok else None
            timed = world.reference_ms(search.speed, rng)
            search.history.append(Outcome(probe.load, probe.phase, "held" if ok else "not held", hint, timed))
            search.spent += length_s + OVERHEAD_S
            search.unaborted += seconds + OVERHEAD_S


def _hint(bias: float, load: float, capacity: float, rng: np.random.Generator) -> float | None:
    """The load of saturation, extrapolated from a trial's CPU."""
    if not bias:
        return None
    used = load / capacity + FIXED
    off = 3.0 ** rng.choice([-1, 1]) if np.isinf(bias) else bias * np.exp(rng.normal(0, NOISE))
    return float(off * load / used)
