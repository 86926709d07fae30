"""Known delays in the shop's SleepTask: which does the paired comparison find, and which the published statistic?

As the study of virtualisation by distributed tracing did: the whole flow of an order, the span of payment's call, ten
runs at each delay and ten more of none; in the large flow payment solves equations, in the small it does not. A run
is shorter than the published 10,000 requests. Found by the comparison: the span's median is called slower (Holm over
all spans and percentiles). Apart by the statistic: the least AD of all pairs of a run with the delay and a run without
it exceeds the greatest of all pairs without. It goes on where it was stopped; the whole takes hours, ``--flow``,
``--delays``, ``--runs`` and ``--requests`` measure a part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.common import ROOT, Row, build_stone, report
from bench.runs import finished
from loadstone.analysis import comparison, summary
from loadstone.analysis.comparison.tables import EffectRow
from loadstone.analysis.distribution_rows import LevelDistanceRow
from loadstone.analysis.reproduction import best_fits
from loadstone.analysis.run import open_run

DELAYS_US = (0, 50, 100, 200, 300, 400, 500)
PUBLISHED_US = {"large": 200, "small": 50}
"""By flow, the delay from which the study saw its statistics separate."""
LINPACK = {"large": 260, "small": 0}
RATES = {"large": 8, "small": 20}
"""Requests per second: the large flow takes about two thirds of one core."""
OPERATION = "POST /payment/transfer/id/{id}/amount/{amount}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flow", choices=LINPACK, action="append", help="only this one; repeatable")
    parser.add_argument("--delays", type=int, nargs="+", default=list(DELAYS_US), help="us; 0 is always measured")
    parser.add_argument("--runs", type=int, default=10, help="of each delay, at least 7")
    parser.add_argument("--requests", type=int, default=240, help="of a run's measured window")
    parser.add_argument("--folder", type=Path, default=ROOT / ".build/bench/accuracy", help="where its data lie")
    given = parser.parse_args(arguments)
    build_stone()
    rows: list[Row] = []
    for flow in given.flow or LINPACK:
        name = f"{flow}-{given.runs}x{given.requests}-{'-'.join(map(str, given.delays))}"
        rows += _rows(flow, finished(name, study(flow, given.delays, given.runs, given.requests), given.folder))
    rates = ", ".join(f"{flow} flow at {RATES[flow]} req/s" for flow in given.flow or LINPACK)
    notes = [
        f"{given.runs} runs of {given.requests} requests at each delay, interleaved, as processes; {rates}",
        "found: 1 where the comparison of medians calls payment slower; by the statistic: 1 where AD separates",
    ]
    report("accuracy", rows, notes)


def study(flow: str, delays: Sequence[int], repetitions: int, requests: int) -> dict[str, Any]:
    """The study of one flow; nothing is judged, so the objective is one that cannot be missed."""
    levels = [f"{delay}us" for delay in sorted({0, *delays})]
    return {
        "version": 1,
        "name": f"accuracy-{flow}",
        "reproduces": "vinken2022",
        "application": "shop",
        "scaling": "unlimited",
        "tasks": {"order": {"keep": False}, "payment": {"linpack": LINPACK[flow]}},
        "factors": {"tasks.payment.sleep": levels},
        "comparison": {"baseline": {"tasks.payment.sleep": "0us"}},
        "traces": {"sample": 1},
        "report": {"spans": [f"payment {OPERATION}"]},
        "load": {"arrival": "constant", "rates": [RATES[flow]], "slo": {"p99": "4s", "completed": "50%"}},
        "trial": {
            "warmup": "2s",
            "duration": f"{requests // RATES[flow]}s",
            "repetitions": repetitions,
            "reset": "per-trial",
        },
    }


def _rows(flow: str, folder: Path) -> Iterator[Row]:
    run = open_run(folder)
    treatments = summary.treatments(run)
    levels = {treatment.label: next(iter(treatment.levels.values())) for treatment in treatments}
    compared = comparison.within(run, distributions=False)
    statistics = {row.level: row for row in best_fits(run, treatments).chosen.levels}
    none = next((row for row in statistics.values() if row.baseline), None)
    medians = [row for row in (*compared.noise, *compared.effects) if _of_payment(row)]
    if not medians or none is None:
        sys.exit(f"{flow}: {folder} has no span of payment in runs that can be compared")
    for median in medians:
        row = none if median.treatment not in levels else statistics.get(levels[median.treatment])
        if row is not None:
            yield from _delay(flow, median, row, none)


def _of_payment(row: EffectRow) -> bool:
    return (row.scope, row.name, row.statistic) == ("spans", f"payment: {OPERATION}", "p50")


def _delay(flow: str, median: EffectRow, row: LevelDistanceRow, none: LevelDistanceRow) -> Iterator[Row]:
    """What was added to the median, whether either way finds it, and the statistic itself."""
    title = f"{flow} flow, {row.amount:g} us"
    added, low, high = (1000 * median.a_ms * (ratio - 1) for ratio in (median.ratio, median.low, median.high))
    yield Row(f"{title}: added to payment's median", "us", added, low, high, "the delay", row.amount)
    expected = row is not none
    judged = not expected or row.amount >= PUBLISHED_US[flow]
    target = f"found (published from {PUBLISHED_US[flow]} us)" if expected else "not found"
    found, apart = median.verdict == "slower", expected and row.ad_min > none.ad_max
    yield Row(
        f"{title}: found by the paired comparison",
        "",
        float(found),
        peer="by the published statistic",
        peer_value=float(apart),
        target=target if judged else None,
        holds=found == expected if judged else None,
    )
    yield Row(f"{title}: AD, mean over {row.pairs} pairs", "", row.ad_mean, row.ad_min, row.ad_max)


if __name__ == "__main__":
    main(sys.argv[1:])
