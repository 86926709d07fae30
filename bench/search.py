"""Does the capacity search find the truth, how fast, and do its intervals keep their word? (python -m bench search)

Simulated searches of servers of known capacity (``bench/queueing.py``): eight workers whose speed differs between
equal trials by 2, 5, 10 and 20 %; two servers that break otherwise, gently and by a CPU quota; spreads of shapes that
the search does not assume; a machine that is slow for a dozen trials in a row, whose truth is that of the others; and
machines whose speed is timed during each trial, where it decides (the truth is that at the usual speed), and where it
has nothing to do with what the server sustains.
Every trial costs its duration, or less after an early abort, and 10 s of overhead. Truth is the load at which half
(capacity: 95 %) of independent 30 s trials of the same server hold, from 6000 trials that no search sees. Searches
have the hints of ``bench/searching.py``: biased, missing in a tenth, wild in a twentieth. The confirmation is judged
twice more on each search, on a server that from there on sustains less, and more, by three times the precision: its
estimate is then off by that, in breaking point and capacity alike. Peers: a grid of 22 loads x 5 repetitions, placed
around the right place for it; bisection with one trial a load after the same bracket; and oracles
(``bench/oracles.py``). All times are simulated minutes, not time spent here.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from bench import oracles, queueing, searching
from bench.common import Row, report
from bench.searching import FINE_S, OVERHEAD_S, SHORT_S, World
from loadstone.analysis.confirmation import detectable
from loadstone.experiments.search import CAPACITY_WIDER, Search, SearchResult

SEARCHES, OTHERS = 300, 100
"""Searches of ours at each spread; searches of peers, and of ours on other servers and in other shapes."""
COVERS, ALARMS, FINDS = 0.93, 0.05, 0.80
"""Shares: intervals that hold the truth, right estimates contradicted, wrong ones contradicted."""
OF_GRID = 0.08
GRID_LOADS, GRID_REPETITIONS = 22, 5
BISECT_TO = 1.02
SPREADS = (0.02, 0.05, 0.10, 0.20)
TIMED = (0.02, 0.05)
"""Spreads at which the search must be quick and a peer is run beside it."""
ROUGH = ((0.10, 0.10), (0.20, 0.20))
"""Spread and precision of searches that ask for what such a machine can hold."""
OTHER_SERVERS = [(name, spread) for name in ("gentle", "quota") for spread in (0.05, 0.20)]
SHAPES: tuple[queueing.Shape, ...] = ("heavy", "skewed", "stalling", "lucky", "drifting")
SLOWED = ((0.05, 0.75), (0.05, 0.6), (0.10, 0.75))
"""Spread, and the speed of the machine in its bad minute."""
TIMED_SPEEDS: tuple[tuple[float, searching.Timed], ...] = ((0.10, "as fast"), (0.20, "as fast"), (0.10, "apart"))
"""Spread, and how a computation that is timed depends on the speed of the server."""
QUEUE = queueing.SERVERS["queue"]
SEED = 2026
"""What was tuned was tuned with others."""

NOTES = (
    "Truth: the load at which half (capacity: 95 %) of independent 30 s trials of the same server hold.",
    "Low to high: exact 95 % interval of a count; central 95 % of searches for minutes and forecasts.",
    "Minutes meet a grid that runs every trial to its end, one with early abort, and one where neither has it.",
    "Off: the server sustains that much less (estimate too high) or more (too low) during the confirmation.",
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


def grid(spread: float, rng: np.random.Generator) -> Tally:
    """22 loads 2.5 % apart around the nominal capacity; the estimate lies where the majority stops holding.

    Its interval is a percentile bootstrap over the repetitions at each load.
    """
    tally = Tally()
    for _ in range(OTHERS):
        steps = np.arange(GRID_LOADS, dtype=np.float64) - 11 + float(rng.uniform(-0.5, 0.5))
        loads = 0.985 * QUEUE.nominal * np.exp(np.log(1.025) * steps)
        held, over = _trials(np.repeat(loads, GRID_REPETITIONS), FINE_S, spread, rng)
        seen = held.reshape(GRID_LOADS, GRID_REPETITIONS)
        again = rng.integers(0, GRID_REPETITIONS, (400, GRID_LOADS, GRID_REPETITIONS))
        resampled = np.take_along_axis(np.broadcast_to(seen, again.shape), again, axis=2)
        low, high = np.quantile([majority(loads, search) for search in resampled], [0.025, 0.975])
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
    low, high = np.array(searching.starts(OTHERS, rng)), np.full(OTHERS, np.inf)
    spent, unaborted = np.zeros(OTHERS), np.zeros(OTHERS)

    def trial(subset: NDArray[np.bool_], loads: Floats, seconds: float) -> None:
        held, over = _trials(loads[subset], seconds, spread, rng)
        spent[subset] += (over + OVERHEAD_S) / 60
        unaborted[subset] += (seconds + OVERHEAD_S) / 60
        low[subset] = np.where(held, loads[subset], low[subset])
        high[subset] = np.where(held, high[subset], loads[subset])

    while (doubling := np.isinf(high)).any():
        trial(doubling, 2 * low, SHORT_S)
    while (wide := high / low > BISECT_TO).any():
        trial(wide, np.sqrt(low * high), FINE_S)
    tally = Tally()
    for search in zip(np.sqrt(low * high), low, high, spent, unaborted, strict=True):
        tally.add(*search)
    return tally


def _trials(loads: Floats, seconds: float, spread: float, rng: np.random.Generator) -> queueing.Trials:
    return queueing.run(QUEUE, loads, seconds, queueing.speeds(spread, "normal", np.ones(len(loads)), rng), rng)


def measure(spread: float) -> list[Row]:
    """All rows for one spread; its random numbers are its own, so that the order of spreads does not matter."""
    seeds = np.random.default_rng([SEED, int(spread * 1000)]).spawn(5)
    at, world = f"spread {spread:.0%}", World(QUEUE, spread)
    half, most = queueing.truth(QUEUE, spread, "normal", FINE_S, 6000, seeds[0])
    searches = searching.begin(SEARCHES, seeds[1])
    searching.finish(searches, world, seeds[1])
    points, capacities = tallies(searches)
    forecast = [
        (len(search.history) - done) / more
        for search in searches
        if search.expected
        for done, more in [search.expected]
    ]
    rows = [
        Row(f"true breaking point, {at}", "req/s", half),
        Row(f"true capacity, {at}", "req/s", most),
        coverage(f"interval covers the breaking point, {at}", points.covers(half), len(points.rows)),
        coverage(f"interval covers the capacity, {at}", capacities.covers(most), len(points.rows)),
        Row(f"error of the breaking point (95 % of searches within +-), {at}", "%", points.error(half)),
        Row(f"error of the capacity (95 % of searches within +-), {at}", "%", capacities.error(most)),
        Row(f"searches that found one, {at}", f"of {SEARCHES}", len(points.rows)),
        Row(f"searches that end short of +-5 %, and say so, {at}", f"of {SEARCHES}", sum(map(imprecise, searches))),
        *confirming(searches, world, at, seeds[4]),
        spread_of(f"trials needed / expected after the bracket, {at}", "ratio", forecast),
        fine_trials(searches, spread, at),
        spread_of(f"minutes a search, {at}", "min", points.column(3)),
    ]
    if spread in TIMED:
        rows += compare("grid 22 x 5", at, half, points, grid(spread, seeds[2]), target=OF_GRID)
        rows += compare("bisection", at, half, points, bisection(spread, seeds[3]), target=None)
    return rows


def elsewhere(name: str, spread: float) -> list[Row]:
    """Coverage, time and the confirmation's error rates on another server."""
    rng = np.random.default_rng([SEED, int(spread * 1000), len(name)])
    at, world = f"spread {spread:.0%}, {name}", World(queueing.SERVERS[name], spread)
    searches, rows = covering(world, at, rng, aims=True)
    return [*rows, *confirming(searches, world, at, rng)]


def shaped(shape: queueing.Shape) -> list[Row]:
    """Coverage where trials differ in a way that the search does not assume; no target is set."""
    rng, at = np.random.default_rng([SEED, SHAPES.index(shape)]), f"spread 10 %, {shape}"
    return covering(World(QUEUE, 0.1, shape), at, rng, aims=False)[1]


def rough(spread: float, precision: float) -> list[Row]:
    """Coverage, time and the confirmation's verdicts of searches that ask for less precision."""
    rng = np.random.default_rng([SEED, int(spread * 1000), int(precision * 1000)])
    at, world = f"spread {spread:.0%}, precision {precision:.0%}", World(QUEUE, spread)
    searches, rows = covering(world, at, rng, aims=True, precision=precision)
    return [*rows, confirmed(searches, at), *confirming(searches, world, at, rng)]


def slowed(spread: float, slow: float) -> list[Row]:
    """Coverage of what the system usually sustains, time and verdicts where the machine has a bad minute."""
    rng = np.random.default_rng([SEED, int(spread * 1000), int(slow * 1000), 1])
    at = f"spread {spread:.0%}, {searching.SLOW_TRIALS} trials in a row at {slow:.0%} of the speed"
    searches, rows = covering(World(QUEUE, spread, slow=slow), at, rng, aims=True)
    return [*rows, confirmed(searches, at)]


def timed(spread: float, how: searching.Timed) -> list[Row]:
    """Coverage, time and verdicts where the machine's speed is timed during each trial."""
    rng = np.random.default_rng([SEED, int(spread * 1000), len(how), 2])
    at = f"spread {spread:.0%}, timed, {how}"
    left = searching.TIMING if how == "as fast" else spread
    searches, rows = covering(World(QUEUE, spread, timed=how), at, rng, aims=True, left=left)
    return [*rows, confirmed(searches, at)]


def confirmed(searches: Sequence[searching.SimulatedSearch], at: str) -> Row:
    """Searches whose last estimate fresh trials confirmed."""
    count = sum(isinstance(search.result, SearchResult) and search.result.confirmed for search in searches)
    return coverage(f"searches confirmed, {at}", count, len(searches), aims=False)


def covering(
    world: World,
    at: str,
    rng: np.random.Generator,
    aims: bool,
    precision: float = Search.precision,
    left: float | None = None,
) -> tuple[list[searching.SimulatedSearch], list[Row]]:
    """Searches of a world, with how many of their intervals hold the truth, and their minutes.

    ``left``: the spread of the truth, where that is not all of the world's.
    """
    spread = world.spread if left is None else left
    half, most = queueing.truth(world.server, spread, world.shape, FINE_S, 6000, rng)
    searches = searching.begin(OTHERS, rng, precision=precision)
    searching.finish(searches, world, rng)
    points, capacities = tallies(searches)
    return searches, [
        coverage(f"interval covers the breaking point, {at}", points.covers(half), len(points.rows), aims),
        coverage(f"interval covers the capacity, {at}", capacities.covers(most), len(points.rows), aims),
        spread_of(f"minutes a search, {at}", "min", points.column(3)),
    ]


def fine_trials(searches: Sequence[searching.SimulatedSearch], spread: float, at: str) -> Row:
    """Full trials before the confirmation, beside those of an oracle."""
    counts = [sum(outcome.phase == "fine" for outcome in search.history) for search in searches]
    least = oracles.trials(spread, Search.precision, CAPACITY_WIDER * Search.precision)
    row = spread_of(f"fine trials, {at}", "trials", counts)
    return replace(row, peer="oracle", peer_value=least, ratio=row.value / least)


def tallies(searches: Sequence[searching.SimulatedSearch]) -> tuple[Tally, Tally]:
    """Breaking points and capacities of those searches that found one."""
    points, capacities = Tally(), Tally()
    for search in searches:
        if isinstance(search.result, SearchResult):
            found = search.result.result
            for tally, e in ((points, found.breaking_point), (capacities, found.capacity)):
                tally.add(e.value, e.low, e.high, search.spent / 60, search.unaborted / 60)
    return points, capacities


def imprecise(search: searching.SimulatedSearch) -> bool:
    """Whether the search ended short of the required precision, and says so."""
    return isinstance(search.result, SearchResult) and search.result.result.breaking_point.precision > Search.precision


def confirming(
    searches: Sequence[searching.SimulatedSearch], world: World, at: str, rng: np.random.Generator
) -> list[Row]:
    """The two error rates of the confirmation. A search that never got precise does not confirm."""
    judged = [search for search in searches if searching.reached_confirmation(search)]
    alarms = sum(map(searching.contradicted, judged))
    fresh = [sum(outcome.phase == "confirm" for outcome in each.history) for each in judged]
    rows = [
        Row(f"searches that confirm, {at}", f"of {len(searches)}", len(judged)),
        spread_of(f"fresh trials, {at}", "trials", fresh),
        rate(f"right estimates contradicted, {at}", alarms, len(judged), "<=", ALARMS),
    ]
    off = detectable(searches[0].settings.precision)
    for word, factor in (("high", 1 / (1 + off)), ("low", 1 + off)):
        found = sum(searching.confirm_changed(judged, factor, world, rng))
        row = rate(f"estimates {off:.0%} too {word} contradicted, {at}", found, len(judged), ">=", FINDS)
        best = len(judged) * oracles.finds(world.spread, off, rng)
        rows.append(replace(row, peer="oracle", peer_value=best, ratio=found / best))
    return rows


def rate(metric: str, count: int, of: int, sign: str, share: float, aims: bool = True) -> Row:
    """A count with its exact interval, and whether it keeps to a share of ``of``."""
    sure = binomtest(count, of).proportion_ci(method="exact")
    row = Row(metric, f"of {of}", count, sure.low * of, sure.high * of)
    holds = count <= share * of if sign == "<=" else count >= share * of
    return replace(row, target=f"{sign} {share * of:g} ({share:.0%})", holds=holds) if aims else row


def coverage(metric: str, count: int, of: int, aims: bool = True) -> Row:
    return rate(metric, count, of, ">=", COVERS, aims)


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
    ours_covers, theirs = 100 * ours.covers(true) / len(ours.rows), 100 * peer.covers(true) / len(peer.rows)
    return [*rows, Row(f"interval covers the breaking point, {at}", "%", ours_covers, peer=name, peer_value=theirs)]


def main() -> None:
    with ProcessPoolExecutor(2) as pool:
        jobs = [
            *(pool.submit(measure, spread) for spread in SPREADS),
            *(pool.submit(elsewhere, *search) for search in OTHER_SERVERS),
            *(pool.submit(shaped, search) for search in SHAPES),
            *(pool.submit(rough, *search) for search in ROUGH),
            *(pool.submit(slowed, *search) for search in SLOWED),
            *(pool.submit(timed, *search) for search in TIMED_SPEEDS),
        ]
        rows = [row for job in jobs for row in job.result()]
    report("search", rows, NOTES)


if __name__ == "__main__":
    main()
