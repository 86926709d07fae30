"""What the load generator alone caused changes no verdict against the system: it makes a trial invalid, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.slo import Slo
from tests.support.summaries import ABORTED, QUEUE, SLO, changed, judged

CASES: list[tuple[str, dict[str, Any], str, list[str]]] = [
    (
        "a stall of the generator made all the violations that are too many",
        {"violations": 130, "by_generator__violations": 30},
        "invalid",
        ["the load generator alone made the difference: it caused 30 of 130 violations by sending late", "is held"],
    ),
    (
        "one violation more, and the system did not hold without the stall either",
        {"violations": 131, "by_generator__violations": 30},
        "not held",
        ["131 of 10000"],
    ),
    ("held in spite of a stall", {"violations": 90, "by_generator__violations": 30}, "held", []),
    (
        "what it never sent made the difference",
        {"violations": 140, "counts__unsent": 45, "by_generator": {"violations": 45, "late": 0, "unsent": 45}},
        "invalid",
        ["caused 45 of 140 violations by sending late, 45 of them never sent; "],
    ),
    (
        "too few completed, for some came late by the generator alone",
        {
            "counts__completed": 9890,
            "counts__late": 103,
            "violations": 103,
            "by_generator": {"violations": 20, "late": 20, "unsent": 0},
        },
        "invalid",
        ["alone made the difference"],
    ),
    (
        "too few completed without the generator's part, too",
        {
            "counts__completed": 9890,
            "counts__late": 103,
            "violations": 103,
            "by_generator": {"violations": 9, "late": 9, "unsent": 0},
        },
        "not held",
        ["98.90% of requests completed"],
    ),
    (
        "a backlog of the generator, without a violation",
        {"batches": QUEUE, "less_own__backlog": [3] * 10, "violations": 0},
        "invalid",
        ["alone made the difference; without its own delays the SLO is held, with them it is not: the backlog grows"],
    ),
    (
        "a backlog of which a part is the generator's",
        {"batches": QUEUE, "less_own__backlog": [40 * i for i in range(10)]},
        "not held",
        ["the backlog grows"],
    ),
    (
        "an abort counts the system's violations alone",
        {"aborted": ABORTED, "violations": 400, "by_generator__violations": 299},
        "not held",
        ["broke at 3.2 s"],
    ),
    (
        "a short trial that was stopped: what waited for a connection was offered, whatever explains that it was late",
        {
            "aborted": ABORTED,
            "violations": 78,
            "counts": {"offered": 330, "sent": 0, "completed": 0, "late": 0, "unsent": 330},
            "by_generator": {"violations": 3, "late": 0, "unsent": 3},
        },
        "not held",
        ["broke at 3.2 s"],
    ),
    (
        "a thread that waits for a CPU is named where the trial is invalid",
        {"violations": 130, "by_generator__violations": 30, "generator__run_delay_share": 0.27},
        "invalid",
        ["a load thread waited for a CPU for 27% of the window"],
    ),
    (
        "... and where it sent late",
        {"generator__own_lateness_p99_ms": 30.0, "generator__run_delay_share": 0.27},
        "invalid",
        ["sent late: P99 30.00 ms", "waited for a CPU for 27% of the window"],
    ),
    ("a kernel that does not tell", {"generator__run_delay_share": None, "generator__run_delay_s": None}, "held", []),
]


@pytest.mark.parametrize(
    ("changes", "verdict", "reasons"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_table_of_cases(changes: dict[str, Any], verdict: str, reasons: list[str]) -> None:
    result = judged(changed(**changes), SLO)
    assert result.verdict == verdict, result.reasons
    for some in reasons:
        assert some in " | ".join(result.reasons)


def test_another_limit_is_compared_without_the_generators_part_as_well() -> None:
    slo = Slo.model_validate({"p50": "10ms", "p98": "90ms", "p99": "200ms"})
    without = {"less_own__latency_ms__p50": 9.0, "less_own__spectrum": [[50.0, 9.0], [98.5, 89.0]]}
    assert judged(changed(**without), slo).verdict == "invalid"
    for key, value in (("latency_ms__p50", 11.0), ("spectrum", [[50.0, 9.0], [98.5, 91.0]])):
        assert judged(changed(**without | {f"less_own__{key}": value}), slo).verdict == "not held"


def test_own_lateness_is_compared_at_the_slos_percentile_if_enough_lies_beyond_it() -> None:
    slo = Slo.model_validate({"p999": "200ms"})
    late = changed(generator__own_lateness_slo_ms=95.0, violations=10)
    assert "sent late: P99.9 95.00 ms after it could have sent" in judged(late, slo).reasons[0]
    few = late | {"counts": {**late["counts"], "offered": 9_000}}
    assert judged(few, slo).verdict == "held", "9 requests lie beyond it: they are counted one by one"
    assert judged(late, SLO).verdict == "held", "P99 is its own percentile"


def test_a_wait_for_a_cpu_and_the_generators_violations_are_warnings() -> None:
    doubtful = changed(
        violations=40, by_generator__violations=26, generator__run_delay_share=0.31, generator__run_delay_s=3.1
    )
    assert judged(doubtful, SLO).warnings == (
        "the load generator alone caused 26 of 40 violations by sending late; the verdict is the same without them",
        "a load thread could run but waited for a CPU for 31% of the window (all of them 3.1 s): other work competes "
        "for its CPU",
    )
    stopped = changed(aborted=ABORTED, violations=40, by_generator__violations=26)
    assert judged(stopped, SLO).warnings == (
        "the load generator alone caused 26 violations by sending late; they did not count towards the stop",
    ), "of a stopped trial the violations have what was on its way then"
    assert judged(changed(violations=40, by_generator__violations=25), SLO).warnings == (), (
        "a quarter of the 100 allowed"
    )


def test_nothing_completed() -> None:
    dead = changed(counts__completed=0, counts__late=0, counts__errors=9995, violations=10_000)
    nothing = "no request completed (9995 errors, 5 timeouts): there is nothing to measure"
    assert judged(dead, None).reasons == (nothing,)
    assert judged(dead, SLO).verdict == "not held"
    late = dead | {"generator": {**dead["generator"], "own_lateness_p99_ms": 30.0}}
    assert judged(late, SLO).verdict == "not held", "sent late, but nothing would have completed otherwise either"
    assert judged(late, None).reasons == (nothing,)


@given(st.integers(0, 300), st.integers(0, 300))
def test_it_is_invalid_exactly_if_the_verdict_changes_without_the_generators_part(system: int, own: int) -> None:
    result = judged(changed(violations=system + own, by_generator__violations=own), SLO)
    assert result.verdict == ("not held" if system > 100 else "invalid" if system + own > 100 else "held")


def test_another_driver_has_no_part_of_its_own_to_leave_out() -> None:
    other = changed(violations=101, driver="wrk2")
    del other["by_generator"], other["less_own"]
    assert judged(other, SLO).verdict == "not held"
