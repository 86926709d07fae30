"""Which runs are compared with which: blocks, second runs, families, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadstone.analysis import comparison
from loadstone.analysis.comparison import calibration, doubts
from loadstone.analysis.comparison.calibration import CalibrationRow
from loadstone.analysis.comparison.measured import ALL, Key, MeasuredRun, endpoints, families, measured
from loadstone.analysis.comparison.tables import EffectRow
from loadstone.analysis.comparison.treatments import again, at, noise, pairs
from loadstone.analysis.comparison.treatments import effects as compare
from loadstone.analysis.run import RunFolder, open_run
from loadstone.model.errors import InputError
from loadstone.model.records.run_files import NodeFacts, PlannedTreatment
from tests.synthetic import Synthetic
from tests.trial_rows import trial_row

BASE, SLOW = "scaling=baseline", "scaling=vertical"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Eight blocks of a baseline, of itself again, and of one that is slower by half a millisecond."""
    synthetic = Synthetic(
        capacities={"baseline": 1250.0, "vertical": 1250.0},
        slower_ms={"vertical": 0.5},
        rates=[200.0],
        repetitions=8,
        duration_s=3.0,
        comparison=True,
    )
    return open_run(synthetic.write(tmp_path_factory.mktemp("results")))


def effects(found: comparison.Compared, **equal: Any) -> list[EffectRow]:
    return [row for row in found.effects if all(getattr(row, name) == value for name, value in equal.items())]


def without(run: RunFolder, keep: Any) -> RunFolder:
    return replace(run, trials=tuple(row for row in run.trials if keep(row)))


def test_blocks_are_pairs_and_the_delay_is_found(run: RunFolder) -> None:
    found = comparison.within(run)
    assert (found.baseline, found.method, found.margin) == (BASE, "paired", 0.02)
    [p50] = effects(found, name=ALL, statistic="p50")
    assert p50.runs == 8
    assert p50.verdict == "slower"
    assert p50.low < 1 + 0.5 / p50.a_ms < p50.high


def test_the_baseline_is_compared_with_its_second_runs(run: RunFolder) -> None:
    rows = comparison.within(run).noise
    assert {row.from_second_runs for row in rows} == {True}
    assert {row.runs for row in rows} == {8}
    assert [row.verdict for row in rows if row.name == ALL and row.verdict in ("slower", "faster")] == []


def test_without_second_runs_neighbours_are_the_noise(run: RunFolder) -> None:
    rows = comparison.within(without(run, lambda row: row.number == 1)).noise
    assert {row.from_second_runs for row in rows} == {False}
    assert {row.runs for row in rows} == {4}


def test_each_scope_is_a_family_of_its_own(run: RunFolder) -> None:
    found = comparison.within(run)
    [alone] = effects(found, scope="requests", statistic="p50")
    assert alone.p_adjusted == pytest.approx(2 * alone.p)
    operations = effects(found, scope="operations")
    assert {row.name for row in operations} == {"hotels", "recommendations"}, "the others have too few requests"
    smallest = min(operations, key=lambda row: row.p)
    assert smallest.p_adjusted == pytest.approx(min(1, len(operations) * smallest.p))


def test_an_invalid_trial_and_one_that_was_stopped_take_their_pairs_along(run: RunFolder) -> None:
    rows = run.trials
    gone = {row.trial_id for row in rows if row.treatment == SLOW and row.repetition == 3}
    stopped = {row.trial_id for row in rows if row.treatment == BASE and row.repetition == 5}
    changed = [
        row.model_copy(
            update=({"verdict": "invalid"} if row.trial_id in gone else {})
            | ({"aborted_at_s": 1.0} if row.trial_id in stopped else {})
        )
        for row in rows
    ]
    found = comparison.within(replace(run, trials=tuple(changed)))
    assert {row.runs for row in effects(found)} == {6}
    assert found.warnings[:2] == [
        "1 trial was left out, and with each its pair: it is invalid",
        "2 trials were left out, and with each its pair: they were stopped early",
    ]


def test_no_pair_is_left_out_where_there_are_none(run: RunFolder) -> None:
    first, second, *rest = run.trials
    invalid = first.model_copy(update={"verdict": "invalid"})
    stopped = second.model_copy(update={"aborted_at_s": 1.0})
    changed = replace(run, trials=(invalid, stopped, *rest))
    result = ["1 trial was left out: it is invalid", "1 trial was left out: it was stopped early"]
    assert comparison.within(changed, unpaired=True).warnings[:2] == result
    assert set(result) <= set(comparison.between(run, changed).warnings)


def test_one_restless_trial_is_one() -> None:
    rows = [trial_row(p50_ms=1.0, steady=steady) for steady in (False, True)]
    [text] = doubts.of_trials(rows, "paired")
    assert text.startswith("1 of 2 trials was not stationary: ")


def test_unpaired_compares_all_runs_of_both_sides(run: RunFolder) -> None:
    fewer = without(run, lambda row: row.treatment == BASE or row.repetition > 2)
    assert {row.runs for row in effects(comparison.within(fewer, unpaired=True))} == {6}
    assert {row.method for row in effects(comparison.within(fewer, unpaired=True))} == {"unpaired"}


def test_too_few_pairs_are_reported(run: RunFolder) -> None:
    found = comparison.within(without(run, lambda row: row.repetition < 4))
    assert {row.verdict for row in effects(found)} == {"cannot tell"}
    assert (
        f"{SLOW} at 200 req/s: 3 pairs can show no difference, however large; at least 7 are needed" in found.warnings
    )


def test_comparisons_with_as_few_pairs_are_reported_at_once() -> None:
    def at(load: float, clients: int | None = None) -> MeasuredRun:
        return MeasuredRun("t", "a", load, clients, 1, False, 1, {})

    counted = [("a", at(100.0), 1), ("a", at(200.0), 1), ("b", at(100.0), 9), ("b", at(200.0), 3)]
    assert list(doubts.of_pairs(counted, "paired")) == [
        "2 of 4 comparisons: 1 pair can show no difference, however large; at least 7 are needed",
        "b at 200 req/s: 3 pairs can show no difference, however large; at least 7 are needed",
    ]
    for run, where in ((at(1.0, 1), "1 client"), (at(8.0, 8), "8 clients"), (at(0.0), "the trace's own pace")):
        [text] = doubts.of_pairs([("b", run, 2)], "paired")
        assert text.startswith(f"b at {where}: 2 pairs can show")


def test_another_baseline_turns_it_around(run: RunFolder) -> None:
    found = comparison.within(run, baseline="vertical")
    assert found.baseline == SLOW
    [p50] = effects(found, name=ALL, statistic="p50")
    assert (p50.treatment, p50.verdict) == (BASE, "faster")
    with pytest.raises(InputError, match="--baseline 'scaling' names 2 treatments of this run; it has: scaling=base"):
        comparison.within(run, baseline="scaling")


def test_two_runs_are_unpaired_and_reported_as_apart(run: RunFolder) -> None:
    host = {**run.provenance.host, "kernel": "6.1"}
    other = replace(run, provenance=run.provenance.model_copy(update={"host": host}))
    found = comparison.between(run, other)
    assert {row.method for row in effects(found)} == {"unpaired"}
    assert {row.ratio for row in effects(found)} == {1.0}
    assert found.warnings[0].startswith("the runs were made one after the other")
    assert [text for text in found.warnings if text.startswith("the machines differ: kernel")]
    assert not list(doubts.of_machines(run, run))[1:]


def test_hosts_of_two_runs_that_differ_are_named(run: RunFolder) -> None:
    def on(*nodes: NodeFacts) -> RunFolder:
        return replace(run, provenance=run.provenance.model_copy(update={"nodes": nodes}))

    old = on(NodeFacts(name="node-1", role="worker", machine={"microcode": "0x1", "kernel": "6.1"}))
    new = on(NodeFacts(name="node-7", role="worker", machine={"microcode": "0x2", "kernel": "6.1"}))
    unknown = on(NodeFacts(name="node-1", role="worker"))
    expected = ["the machines differ: microcode of node-1 0x1 and of node-7 0x2"]
    assert list(doubts.of_machines(old, new))[1:] == expected
    assert list(doubts.of_machines(old, unknown))[1:] == []


def made(block: int, value: float, treatment: str = "a", again: bool = False, **others: float) -> MeasuredRun:
    values = {Key("requests", ALL, "p50"): value} | {Key("operations", name, "p50"): ms for name, ms in others.items()}
    return MeasuredRun(f"{treatment}{block}{again}", treatment, 100.0, None, block, again, block, values)


def test_only_endpoints_that_every_run_has_are_compared() -> None:
    assert [key.name for key in endpoints([made(1, 2.0, rare=1.0), made(2, 2.0)])] == [ALL]


def traced(block: int, treatment: str, more: float, spans: int) -> MeasuredRun:
    """A run with so many spans besides payment's, which takes ``more``; all differ a little from run to run."""
    values = {Key("spans", f"order: span-{number}", "p50"): 1 + 0.001 * (block * number % 7) for number in range(spans)}
    values[Key("spans", "payment: POST /payment", "p50")] = 2 + more + 0.001 * block
    return MeasuredRun(f"{treatment}{block}", treatment, 100.0, None, block, False, block, values)


def test_a_span_that_is_chosen_beforehand_is_not_weakened_by_all_others() -> None:
    a, b = ([traced(block, name, more, 30) for block in range(10)] for name, more in (("off", 0.0), ("on", 0.5)))
    for chosen, verdict in (((), "cannot tell"), (("payment POST /payment",), "slower")):
        found = {key.name: each.effect for key, each in compare(a, b, 0.02, True, chosen)}
        assert found["payment: POST /payment"].verdict == verdict
        assert found["payment: POST /payment"].p == pytest.approx(2 / 2**10), "as small as ten pairs can make it"
    (text,) = doubts.of_families(families([*a, *b]), 10, "paired")
    assert text.startswith(
        "31 endpoints of spans are tested together: with 10 pairs none of them can be shown to differ"
    )
    assert "at least 11 are needed" in text and "report.spans" in text
    assert not list(doubts.of_families(families([*a, *b]), 11, "paired")), "eleven suffice for 51"
    (text,) = doubts.of_families(families([*a, *b], ["payment POST /payment"]), 10, "paired")
    assert text.startswith("30 endpoints of spans"), "the others are still too many"


def test_an_endpoint_that_one_run_lacks_is_reported_as_missing(run: RunFolder) -> None:
    rows = run.trials
    [gone] = [row for row in rows if row.treatment == SLOW and row.repetition == 3]
    few = tuple(row.model_copy(update={"completed": 40}) if row is gone else row for row in rows)
    found = comparison.within(replace(run, trials=few))
    message = f"the P99 of all requests is not compared, as of trial {gone.trial_id} it is not known: "
    message += "fewer than 100 answers, or too many requests without one"
    assert [text for text in found.warnings if "not compared" in text] == [f"{SLOW} at 200 req/s: {message}"]
    assert [row.statistic for row in effects(found, name=ALL)] == ["p50"]
    assert not any("not compared" in text for text in comparison.within(run).warnings)


def test_pairs_are_of_the_same_block_whatever_the_order() -> None:
    a, b = [made(2, 1.0), made(1, 1.0), made(3, 1.0)], [made(3, 1.0, "b"), made(2, 1.0, "b")]
    assert [(item.block, other.block) for item, other in pairs(a, b)] == [(2, 2), (3, 3)]


def test_second_runs_are_no_runs_of_the_treatment() -> None:
    runs = [made(1, 1.0), made(1, 1.0, again=True)]
    assert [item.again for item in at(runs, "a", 100.0)] == [False]
    assert [item.again for item in again(runs, "a", 100.0)] == [True]
    assert noise(at(runs, "a", 100.0), [], 0.02, 6) == []


def test_what_is_measured_comes_from_rows_and_summaries(run: RunFolder) -> None:
    [first, *_] = measured(run, run.trials)
    row = run.trials[0]
    summary = run.summary(first.trial_id)
    assert summary is not None
    operation = summary.operations[0]
    text = {(key.name, key.statistic): value for key, value in first.values.items()}
    assert text[ALL, "p99"] == row.p99_ms
    assert operation.latency_ms.intended is not None
    assert text[operation.name, "p50"] == operation.latency_ms.intended.p50


def row(delay: float, detected: bool) -> CalibrationRow:
    at: dict[str, Any] = {"treatment": "a", "service": "web", "scope": "requests", "name": ALL, "load": 100.0}
    shift: dict[str, Any] = dict.fromkeys(("shift_ms", "low_ms", "high_ms", "p_adjusted", "ks", "ad"), 0.0)
    return CalibrationRow(**at, **shift, delay_ms=delay, detected=detected)


@pytest.mark.parametrize(
    ("detected", "limit"),
    [
        ({0.05: False, 0.1: True, 0.2: True}, 0.1),
        ({0.05: True, 0.1: False, 0.2: True}, 0.2),
        ({0.05: True, 0.1: True, 0.2: False}, None),
        ({0.05: True, 0.1: True}, 0.05),
    ],
)
def test_the_limit_is_the_delay_from_which_on_all_are_detected(detected: dict[float, bool], limit: float) -> None:
    table = [row(0.0, False), *(row(delay, seen) for delay, seen in detected.items())]
    assert calibration.limits(table) == {(100.0, "web", ALL): limit}


def test_delays_are_those_of_treatments_that_differ_in_nothing_else(run: RunFolder, tmp_path: Path) -> None:
    def treatment(name: str, **settings: Any) -> PlannedTreatment:
        return PlannedTreatment(id=name, label=name, settings={"scaling": "baseline", **settings})

    planned = (
        treatment("a"),
        treatment("b", delays={"web": "0.05ms"}),
        treatment("c", delays={"web": "1ms"}, profile="paper"),
        treatment("d", delays={"web": "1ms", "search": "1ms"}),
    )
    changed = replace(run, plan=run.plan.model_copy(update={"treatments": planned}))
    assert calibration.injected(changed, "a") == {"b": ("web", pytest.approx(0.05))}
    assert calibration.injected(changed, "b") == {}
