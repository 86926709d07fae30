"""Does the comparison keep its word: false alarms, power, coverage; and is it fast? (python -m bench statistics)

By simulation of studies whose truth is known (``bench/simulated_runs.py``), with the functions that ``loadstone
compare`` itself calls. ``BENCH_ROUNDS`` studies of each kind (3000); a quarter where permutations are enumerated, a
tenth where every request is drawn. Seeded: the same rounds give the same table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
from scipy.stats import binomtest

from bench.all_pairs import all_pairs_rows
from bench.common import Row, report
from bench.pooled import pooled_rows
from bench.simulated_runs import SimulatedKind, draw
from loadstone.analysis.statistics import Endpoint, compare, needed_pairs, power, precision
from loadstone.analysis.statistics.differences import TestedDifference, paired, unpaired
from loadstone.model.comparison import Repeating

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3000"))
LEVEL = 0.05
SHIFT, MARGIN = 0.02, 0.02
NOTES = (
    f"Simulated: runs of 10,000 requests; {ROUNDS} studies of each kind, a quarter of them for permutations, a tenth "
    "for methods that look at every request. Low to high: exact 95 % interval of the share.",
    "sd: of log P50 from run to run. Drift: a trend of 10 % over the study and a random walk with steps of that sd.",
    "Family: four operations x P50 and P99 with Holm; an alarm is any that is called slower or faster.",
    "A target on power is held where the interval of what was found reaches it: the target was simulated itself.",
)

Job = tuple[Callable[..., list[Row]], tuple[object, ...]]


def share(metric: str, hits: Sequence[bool] | np.ndarray) -> Row:
    """How often something happened, in percent, with its exact interval."""
    count, of = int(np.sum(hits)), len(hits)
    sure = binomtest(count, of).proportion_ci(method="exact")
    return Row(metric, "%", 100 * count / of, 100 * sure.low, 100 * sure.high)


def within(row: Row, low: float, high: float) -> Row:
    return replace(row, target=f"{low:g} to {high:g} %", holds=low <= row.value <= high)


def reaches(row: Row, least: float) -> Row:
    return replace(row, target=f">= {least:g} %", holds=row.high is not None and row.high >= least)


def false_alarms(sd: float, drift: bool) -> list[Row]:
    """False alarms of the default comparison, ten pairs in random order, where nothing differs."""
    a, b = draw(
        SimulatedKind(10, sd, drift=drift, operations=4), ROUNDS, np.random.default_rng([1, int(sd * 1e4), drift])
    )
    singles: dict[str, list[bool]] = {"P50": [], "P99": []}
    family, covered = [], []
    for before, after in zip(np.exp(a), np.exp(b), strict=True):
        effects = [test_result.effect for test_result in compare(endpoints(before, after), MARGIN, LEVEL)]
        for statistic, effect in zip(singles, effects, strict=False):
            singles[statistic].append(effect.p <= LEVEL)
        family.append(any(effect.p_adjusted <= LEVEL for effect in effects if effect.p_adjusted is not None))
        covered.append(effects[0].low <= 1 <= effects[0].high)
    at = f"sd {100 * sd:g} %, {'drift' if drift else 'no drift'}"
    rows = [within(share(f"false alarms, {name}, {at}", hits), 3, 7) for name, hits in singles.items()]
    rows.append(within(share(f"false alarms, family of 8, {at}", family), 3, 7))
    return [*rows, within(share(f"interval covers the ratio, {at}", covered), 93, 97)]


def endpoints(before: np.ndarray, after: np.ndarray) -> list[Endpoint]:
    """The endpoints of one study from its values by pair, operation, and P50 or P99."""
    return [
        Endpoint(str(operation), statistic, before[:, operation, column].tolist(), after[:, operation, column].tolist())
        for operation in range(before.shape[1])
        for column, statistic in enumerate(("p50", "p99"))
    ]


def equality() -> list[Row]:
    """What differs by exactly the margin must seldom be called equal; what is the same, often."""
    rows = []
    for shift, what in ((MARGIN, "false 'equal': 2 % slower, margin 2 %"), (0.0, "true 'equal': the same, margin 2 %")):
        a, b = draw(SimulatedKind(10, 0.005, shift=shift), ROUNDS, np.random.default_rng([2, int(shift * 1e4)]))
        verdicts = [
            compare(endpoints(before, after)[:1], MARGIN, LEVEL)[0].effect.verdict
            for before, after in zip(np.exp(a), np.exp(b), strict=True)
        ]
        rows.append(share(f"{what}, sd 0.5 %, 10 pairs", np.array(verdicts) == "equal"))
    return [replace(rows[0], target="<= 7 %", holds=rows[0].value <= 7), rows[1]]


def in_turn() -> list[Row]:
    """All of A, then all of B, while the machine drifts: what interleaving is for."""
    kind = SimulatedKind(10, 0.005, drift=True, in_blocks=False)
    hits = tested(kind, ROUNDS // 4, unpaired, lambda test_result: test_result.p, seed=3)
    return [share("false alarms of permutation over runs, sd 0.5 %, drift, all A before all B", hits)]


POWER: tuple[tuple[str, SimulatedKind, Callable[..., TestedDifference], str, float | None, int], ...] = (
    ("paired t, 5 pairs", SimulatedKind(5, 0.02, 0.8, shift=SHIFT), paired, "p_t", 74, 1),
    ("paired t, 10 pairs", SimulatedKind(10, 0.02, 0.8, shift=SHIFT), paired, "p_t", 99, 1),
    ("sign-flip, 6 pairs", SimulatedKind(6, 0.02, 0.8, shift=SHIFT), paired, "p", None, 1),
    ("sign-flip, 10 pairs (the default)", SimulatedKind(10, 0.02, 0.8, shift=SHIFT), paired, "p", None, 1),
    ("permutation over runs, 5 + 5", SimulatedKind(5, 0.02, shift=SHIFT), unpaired, "p", None, 4),
    ("permutation over runs, 10 + 10", SimulatedKind(10, 0.02, shift=SHIFT), unpaired, "p", None, 4),
    ("Welch over runs, 5 + 5", SimulatedKind(5, 0.02, shift=SHIFT), unpaired, "p_t", None, 4),
    ("Welch over runs, 10 + 10", SimulatedKind(10, 0.02, shift=SHIFT), unpaired, "p_t", None, 4),
)


def power_of(index: int) -> list[Row]:
    """The power of one method: how often a P50 that is 2 % slower is found, at a sd of 2 % between runs."""
    name, kind, test, decides, target, part = POWER[index]
    hits = tested(kind, ROUNDS // part, test, lambda test_result: getattr(test_result, decides), seed=40 + index)
    blocks = ", 80 % of the variance shared in a block" if kind.shared else ""
    row = share(f"power, 2 % shift, sd 2 %{blocks}: {name}", hits)
    return [row if target is None else reaches(row, target)]


def tested(
    kind: SimulatedKind,
    studies: int,
    test: Callable[..., TestedDifference],
    p: Callable[[TestedDifference], float],
    seed: int,
) -> list[bool]:
    a, b = draw(kind, studies, np.random.default_rng(seed))
    return [
        p(test(test_result, other)) <= LEVEL for test_result, other in zip(a[:, :, 0, 0], b[:, :, 0, 0], strict=True)
    ]


def planner() -> list[Row]:
    """Power at the number of pairs that the planner names for a given spread."""
    sd = 0.02 * np.sqrt(2 * 0.2)
    pairs = needed_pairs(sd, SHIFT) or 0
    hits = tested(
        SimulatedKind(pairs, 0.02, 0.8, shift=SHIFT), ROUNDS, paired, lambda test_result: test_result.p, seed=5
    )
    row = share(f"power at the {pairs} pairs that were planned for 80 %, sign-flip", hits)
    foreseen = 100 * power(pairs, sd, SHIFT)
    return [reaches(replace(row, peer="planned", peer_value=foreseen, ratio=row.value / foreseen), 80)]


def stopping() -> list[Row]:
    """Looking several times makes the last interval a little too narrow: how much?"""
    rule, rng = Repeating(), np.random.default_rng(6)
    wanted = rule.until.wanted["p50"]
    runs, covered, reached = [], [], []
    for values in rng.normal(0, 0.04, (ROUNDS, rule.most)):
        known = {count: precision(np.exp(values[:count])) for count in (*rule.looks, rule.most)}
        count = next((count for count, half in known.items() if half <= wanted), rule.most)
        runs.append(count)
        reached.append(known[count] <= wanted)
        covered.append(abs(np.mean(values[:count])) <= np.log1p(known[count]))
    return [
        share("stop rule, sd 4 %: interval covers the truth after repeated looks", covered),
        share("stop rule, sd 4 %: +-2 % on P50 within 30 runs", reached),
        Row("stop rule, sd 4 %: runs", "", float(np.median(runs)), min(runs), max(runs)),
    ]


def main() -> None:
    jobs: list[Job] = [(false_alarms, (sd, drift)) for sd in (0.005, 0.02) for drift in (False, True)]
    jobs += [(equality, ()), (in_turn, ()), *((power_of, (index,)) for index in range(len(POWER)))]
    jobs += [(planner, ()), (stopping, ()), *((pooled_rows, (runs, max(1, ROUNDS // 10))) for runs in (5, 10))]
    with ProcessPoolExecutor(2) as pool:
        waiting = [pool.submit(work, *given) for work, given in jobs]
        rows = [row for test_result in waiting for row in test_result.result()]
    report("statistics", [*rows, *all_pairs_rows()], NOTES)


if __name__ == "__main__":
    main()
