"""Does the capacity search find the truth, how fast, and does its interval keep its word? (python -m bench.search)

300 simulated searches each against a server of known capacity (``bench/queueing.py``: 8 workers, P99 <= 200 ms), for
run-to-run spreads of 2 % and 5 % (and 10 %, where no target is set). Every trial costs its duration, or less after an
early abort, and 10 s of overhead. Truth is the load at which half of independent 30 s trials of the same server hold,
from 6000 trials that no search sees. Peers: a grid of 22 loads x 5 repetitions, placed around the right place for it,
and bisection with one trial a load after the same bracket. All times are simulated minutes, not time spent here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from bench import queueing
from bench.common import Row, report
from loadstone.experiments.probe import Outcome, Probe, readable
from loadstone.experiments.search import Failed, Found, Search, expected_trials, next_probe

SEARCHES = 300
COVERS = 0.93
"""The least share of searches whose interval must hold the truth."""
OVERHEAD_S, FINE_S, SHORT_S = 10.0, 30.0, 10.0
GRID_LOADS, GRID_REPETITIONS = 22, 5
BISECT_TO = 1.02
SPREADS = (0.02, 0.05, 0.10)
WITHOUT_TARGET = 0.10

NOTES = (
    "Truth: the load at which half (capacity: 95 %) of independent 30 s trials of the same server hold.",
    "Low to high: exact 95 % interval of a count; central 95 % of searches for minutes and forecasts.",
    "Minutes meet a grid that runs every trial to its end, one with early abort, and one where neither has it.",
    "At a spread of 10 % between runs no target is set: intervals are too narrow there, warned of or not.",
)

Floats = NDArray[np.float64]


class Tally:
    """One row an attempt: estimate, interval, minutes with and without early abort."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, float, float, float, float]] = []

    def add(self, value: float, low: float, high: float, minutes: float, unaborted: float) -> None:
        self.rows.append((value, low, high, minutes, unaborted))

    def column(self, index: int) -> Floats:
        return np.array([row[index] for row in self.rows])

    def covers(self, true: float) -> int:
        return int(np.sum((self.column(1) <= true) & (true <= self.column(2))))

    def error(self, true: float) -> float:
        """Half the width of the central 95 % of relative errors, in percent."""
        low, high = np.quantile(self.column(0) / true - 1, [0.025, 0.975])
        return float(high - low) / 2 * 100


def starts(rng: np.random.Generator) -> list[float]:
    """Start loads that put the truth anywhere within a doubling."""
    return [readable(float(load)) for load in np.exp(rng.uniform(np.log(50), np.log(200), SEARCHES))]


def search(spread: float, rng: np.random.Generator) -> tuple[Tally, Tally, list[Found | Failed], list[float]]:
    """All searches in step: breaking points, capacities, results, and trials needed / trials expected."""
    settings = [Search(start=start, fine_s=FINE_S, bracket_s=SHORT_S) for start in starts(rng)]
    histories: list[list[Outcome]] = [[] for _ in settings]
    spent, unaborted = np.zeros(SEARCHES), np.zeros(SEARCHES)
    expected: dict[int, tuple[int, float]] = {}
    results: dict[int, Found | Failed] = {}
    while len(results) < SEARCHES:
        due: dict[float, list[tuple[int, Probe]]] = defaultdict(list)
        for i in set(range(SEARCHES)) - set(results):
            step = next_probe(settings[i], histories[i])
            if not isinstance(step, Probe):
                results[i] = step
                continue
            due[step.duration_s].append((i, step))
            if step.phase == "fine" and i not in expected:
                expected[i] = (len(histories[i]), expected_trials(settings[i], histories[i]))
        for seconds, probes in due.items():
            held, over = queueing.run(np.array([p.load for _, p in probes]), seconds, spread, rng)
            for (i, probe), ok, took in zip(probes, held, over, strict=True):
                histories[i].append(Outcome(probe.load, probe.phase, "held" if ok else "not held"))
                spent[i] += took + OVERHEAD_S
                unaborted[i] += seconds + OVERHEAD_S
    points, capacities = Tally(), Tally()
    for i, result in results.items():
        if isinstance(result, Found):
            for tally, e in ((points, result.result.breaking_point), (capacities, result.result.capacity)):
                tally.add(e.value, e.low, e.high, spent[i] / 60, unaborted[i] / 60)
    forecast = [(len(histories[i]) - done) / more for i, (done, more) in expected.items()]
    return points, capacities, list(results.values()), forecast


def grid(spread: float, rng: np.random.Generator) -> Tally:
    """22 loads 2.5 % apart around the nominal capacity; the estimate lies where the majority stops holding.

    Its interval is a percentile bootstrap over the repetitions at each load.
    """
    tally = Tally()
    for _ in range(SEARCHES):
        steps = np.arange(GRID_LOADS, dtype=np.float64) - 11 + float(rng.uniform(-0.5, 0.5))
        loads = 0.985 * queueing.NOMINAL * np.exp(np.log(1.025) * steps)
        held, over = queueing.run(np.repeat(loads, GRID_REPETITIONS), FINE_S, spread, rng)
        seen = held.reshape(GRID_LOADS, GRID_REPETITIONS)
        again = rng.integers(0, GRID_REPETITIONS, (400, GRID_LOADS, GRID_REPETITIONS))
        resampled = np.take_along_axis(np.broadcast_to(seen, again.shape), again, axis=2)
        low, high = np.quantile([majority(loads, one) for one in resampled], [0.025, 0.975])
        trials = GRID_LOADS * GRID_REPETITIONS
        minutes = (float(over.sum()) + trials * OVERHEAD_S) / 60
        tally.add(majority(loads, seen), low, high, minutes, trials * (FINE_S + OVERHEAD_S) / 60)
    return tally


def majority(loads: Floats, held: NDArray[np.bool_]) -> float:
    """Midway between the last load of the unbroken run that mostly held and the next."""
    mostly = held.mean(axis=1) > 0.5
    broken = int(np.argmin(mostly)) if not mostly.all() else len(loads) - 1
    return float(np.sqrt(loads[max(broken - 1, 0)] * loads[broken]))


def bisection(spread: float, rng: np.random.Generator) -> Tally:
    """Doubling with short trials, then halving the bracket with one full trial a load until it is 2 % wide."""
    low, high = np.array(starts(rng)), np.full(SEARCHES, np.inf)
    spent, unaborted = np.zeros(SEARCHES), np.zeros(SEARCHES)

    def trial(who: NDArray[np.bool_], loads: Floats, seconds: float) -> None:
        held, over = queueing.run(loads[who], seconds, spread, rng)
        spent[who] += (over + OVERHEAD_S) / 60
        unaborted[who] += (seconds + OVERHEAD_S) / 60
        low[who] = np.where(held, loads[who], low[who])
        high[who] = np.where(held, high[who], loads[who])

    while (doubling := np.isinf(high)).any():
        trial(doubling, 2 * low, SHORT_S)
    while (wide := high / low > BISECT_TO).any():
        trial(wide, np.sqrt(low * high), FINE_S)
    tally = Tally()
    for one in zip(np.sqrt(low * high), low, high, spent, unaborted, strict=True):
        tally.add(*one)
    return tally


def measure(spread: float) -> list[Row]:
    """All rows for one spread; its random numbers are its own, so that the order of spreads does not matter."""
    seeds = np.random.default_rng([2024, int(spread * 1000)]).spawn(4)
    half, most = queueing.truth(spread, FINE_S, 6000, seeds[0])
    points, capacities, results, forecast = search(spread, seeds[1])
    peers = [] if spread == WITHOUT_TARGET else [("grid 22 x 5", grid(spread, seeds[2]))]
    peers.append(("bisection", bisection(spread, seeds[3])))
    aims = spread != WITHOUT_TARGET
    at = f"spread {spread:.0%}"
    found = [result for result in results if isinstance(result, Found)]
    rows = [
        Row(f"true breaking point, {at}", "req/s", half),
        Row(f"true capacity, {at}", "req/s", most),
        coverage(f"interval covers the breaking point, {at}", points.covers(half), aims),
        coverage(f"interval covers the capacity, {at}", capacities.covers(most), False),
        Row(f"error of the breaking point (95 % of searches within +-), {at}", "%", points.error(half)),
        Row(f"searches that found one, {at}", f"of {SEARCHES}", len(found)),
        Row(f"warned that equal trials differ much, {at}", f"of {SEARCHES}", sum(map(warned, found))),
        Row(f"confirmed at once, {at}", f"of {SEARCHES}", sum(result.confirmed for result in found)),
        spread_of(f"trials needed / expected after the bracket, {at}", "ratio", forecast),
    ]
    for name, peer in peers:
        rows += compare(name, at, half, points, peer, target=1 / 8 if name.startswith("grid") else None)
    return rows


def warned(result: Found) -> bool:
    return any("run to run" in warning for warning in result.result.warnings)


def coverage(metric: str, count: int, aims: bool) -> Row:
    sure = binomtest(count, SEARCHES).proportion_ci(method="exact")
    row = Row(metric, f"of {SEARCHES}", count, sure.low * SEARCHES, sure.high * SEARCHES)
    least = COVERS * SEARCHES
    return replace(row, target=f">= {least:g} (93 %)", holds=count >= least) if aims else row


def spread_of(metric: str, unit: str, values: Sequence[float] | Floats) -> Row:
    low, median, high = (float(q) for q in np.quantile(values, [0.025, 0.5, 0.975]))
    return Row(metric, unit, median, low, high)


def compare(name: str, at: str, true: float, ours: Tally, peer: Tally, target: float | None) -> list[Row]:
    """Time, error and coverage against a peer. Each column of minutes meets the peer's own, with and without abort."""
    rows = []
    pairs = [
        ("minutes a search, early abort on our side only", 3, 4),
        ("minutes a search, early abort on both sides", 3, 3),
        ("minutes a search, no early abort", 4, 4),
    ]
    for metric, own, other in pairs if target else pairs[1:2]:
        row = spread_of(f"{metric}, {at}", "min", ours.column(own))
        theirs = float(np.median(peer.column(other)))
        row = replace(row, peer=name, peer_value=theirs, ratio=row.value / theirs)
        if target:
            row = replace(row, target=f"ratio <= {target:g}", holds=row.value / theirs <= target)
        rows.append(row)
    error, theirs = ours.error(true), peer.error(true)
    rows.append(Row(f"error, {at}", "%", error, peer=name, peer_value=theirs, ratio=error / theirs))
    covered = coverage(f"interval covers the breaking point, {at}", ours.covers(true), False)
    return [*rows, replace(covered, peer=name, peer_value=peer.covers(true))]


def main() -> None:
    with ProcessPoolExecutor(2) as pool:
        rows = [row for rows in pool.map(measure, SPREADS) for row in rows]
    report("search", rows, NOTES)


if __name__ == "__main__":
    main()
