"""Does a gate fail builds that are worse, and only these? (python -m bench gate)

``compare --max-regression 5%`` on 200 simulated pairs of builds of each kind, by the functions that it calls itself:
ten runs of each build at a fixed rate, of 10,000 requests, which differ by 2 % from run to run
(``bench/simulated_runs.py``); and a capacity search of each build with a precision of 2 %, where equal trials differ by
2 % or 5 % (``bench/searching.py``). The second build is as good as the first, worse by just the limit, or by 10 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bench import queueing
from bench.common import Row, report
from bench.searching import FINE_S, SHORT_S, SimulatedSearch, World, finish, starts
from bench.simulated_runs import SimulatedKind, draw
from bench.statistics import share
from loadstone.analysis.comparison import Compared
from loadstone.analysis.comparison.capacities import ratio
from loadstone.analysis.comparison.measured import Key
from loadstone.analysis.comparison.tables import Sides, effect_rows
from loadstone.analysis.gate import Answer, answer, regressions
from loadstone.analysis.posterior import Posterior, posterior
from loadstone.analysis.statistics import Endpoint, compare
from loadstone.experiments.search import Search, SearchResult

PAIRS = 200
MOST = 0.05
WORSE = {"as good": 0.0, "worse by 5 %, the limit": 0.05, "worse by 10 %": 0.10}
RUNS, SPREAD = 10, 0.02
PRECISION, BETWEEN = 0.02, (0.02, 0.05)
ALARMS, FINDS = 5.0, 90.0
SEED = 20
SIDES: Sides = {"baseline": "old", "treatment": "new", "load": 100.0, "clients": None}


def of_latencies(worse: float, rng: np.random.Generator) -> Iterator[Answer]:
    """The answer for each pair of builds from P50 and P99: failed where either fails."""
    kind = SimulatedKind(RUNS, SPREAD, in_blocks=False, shift=worse)
    for old, new in zip(*draw(kind, PAIRS, rng), strict=True):
        keys = [Key("requests", "all requests", statistic) for statistic in ("p50", "p99")]
        values = [(np.exp(old[:, 0, place]), np.exp(new[:, 0, place])) for place in range(2)]
        ends = [Endpoint(key.name, key.statistic, a, b, False) for key, (a, b) in zip(keys, values, strict=True)]
        effects = effect_rows(SIDES, zip(keys, compare(ends, MOST), strict=True))
        yield worst([each.answer for each in regressions(Compared("old", MOST, "unpaired", effects=effects), MOST)])


def worst(answers: list[Answer]) -> Answer:
    """What a build server makes of several gates."""
    order: tuple[Answer, ...] = ("failed", "cannot tell", "passed")
    return min(answers, key=order.index)


def of_searches(worse: float, between: float, rng: np.random.Generator) -> Iterator[Answer]:
    """The answer for each pair of builds from the ratio of their breaking points."""
    old, new = (_searched(factor, between, rng) for factor in (1.0, 1.0 - worse))
    for before, after in zip(old, new, strict=True):
        if before is None or after is None:
            yield "cannot tell"
            continue
        found = ratio(before, after)
        yield answer(found.low, found.high, 1 - MOST, True)


def _searched(factor: float, between: float, rng: np.random.Generator) -> list[Posterior | None]:
    """The posterior of each search, None where it failed; the server is ``factor`` times as fast as usual."""
    server = queueing.SERVERS["queue"]
    world = World(replace(server, service_s=server.service_s / factor), between)
    loads = starts(PAIRS, rng)
    searches = [
        SimulatedSearch(Search(load, precision=PRECISION, fine_s=FINE_S, bracket_s=SHORT_S), 0) for load in loads
    ]
    finish(searches, world, rng)
    return [_posterior(search) if isinstance(search.result, SearchResult) else None for search in searches]


def _posterior(search: SimulatedSearch) -> Posterior:
    trials = [(each.phase, each.evidence) for each in search.history]
    short = [trial for phase, trial in trials if phase == "bracket"]
    return posterior([trial for phase, trial in trials if phase != "bracket"], short)


def rows(kind: str, worse: str, answers: list[Answer]) -> list[Row]:
    """Shares of the answers."""
    count = Counter(answers)
    failed = share(f"{kind}; {worse}: failed", [each == "failed" for each in answers])
    if worse == "worse by 10 %":
        failed = replace(failed, target=f"at least {FINDS:g} %", holds=failed.value >= FINDS)
    else:
        failed = replace(failed, target=f"at most {ALARMS:g} %", holds=failed.value <= ALARMS)
    return [failed, Row(f"{kind}; {worse}: cannot tell", "%", 100 * count["cannot tell"] / len(answers))]


def main() -> None:
    rng = np.random.default_rng(SEED)
    found = []
    for name, worse in WORSE.items():
        found += rows(f"{RUNS} runs of each at a fixed rate", name, list(of_latencies(worse, rng)))
        for between in BETWEEN:
            kind = f"searches to +-{PRECISION:.0%}, trials differ by {between:.0%}"
            found += rows(kind, name, list(of_searches(worse, between, rng)))
    report("gate", found, [f"{PAIRS} pairs of builds of each kind; low to high: exact 95 % interval of the share"])


if __name__ == "__main__":
    main()
