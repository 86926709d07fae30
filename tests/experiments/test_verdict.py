"""Every way in which a trial can fail to hold, or to say anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.experiments.verdict import Verdict, invalid, lateness_budget_ms
from loadstone.model.slo import Slo
from tests.support.summaries import ABORTED, QUEUE, SLO, backlog, changed, judged, summary

SCRIPTED = {"connections": 64, "script": {"path": "/mine.lua"}}

CASES: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("all is well", {}, "held", []),
    ("exactly the share", {"violations": 100}, "held", []),
    ("one violation more", {"violations": 101}, "not held", ["1.01% of scheduled requests (101 of 10000)", "1 % are"]),
    (
        "too few completed",
        {"counts__completed": 9890, "counts__errors": 103},
        "not held",
        ["98.90% of requests completed, less than 99 % (103 errors, 5 timeouts, 2 late)"],
    ),
    (
        "a backlog that grows by 2 %",
        {"batches": backlog([20 * i for i in range(10)])},
        "not held",
        ["the backlog grows"],
    ),
    ("a backlog that grows by 0.5 %", {"batches": backlog([5 * i for i in range(10)])}, "held", []),
    ("a backlog that shrinks", {"batches": backlog([60 - 5 * i for i in range(10)])}, "held", []),
    ("a backlog that jumps about", {"batches": backlog([0, 60, 5, 50, 20, 40, 60, 10, 55, 60])}, "held", []),
    ("no batches to see a trend in", {"batches": backlog([0, 60])}, "held", []),
    ("aborted", {"aborted": ABORTED, "violations": 101}, "not held", ["broke at 3.2 s: violations 101"]),
    (
        "aborted, as requests failed: the reason says how",
        {"aborted": ABORTED, "violations": 101, "errors": [{"kind": "status 403", "operation": "get", "count": 99}]},
        "not held",
        ["failed: 99 x status 403"],
    ),
    (
        "aborted with little done: its fragment is not judged further",
        {"aborted": ABORTED, "counts__sent": 700, "counts__offered": 1000, "counts__completed": 400, "batches": []},
        "not held",
        ["broke at 3.2 s"],
    ),
    ("saturated", {"generator__cpu_share": 0.95}, "invalid", ["saturated", "95% of the CPU"]),
    ("nearly saturated", {"generator__cpu_share": 0.94}, "held", []),
    ("aborted and saturated", {"aborted": ABORTED, "generator__cpu_share": 0.99}, "invalid", ["saturated"]),
    (
        "late, connections free",
        {"generator__own_lateness_p99_ms": 21.0},
        "invalid",
        ["sent late: P99 21.00 ms", "20 ms"],
    ),
    ("within the lateness budget", {"generator__own_lateness_p99_ms": 19.9}, "held", []),
    (
        "late because connections were busy",
        {"latency_ms__lateness__p99": 900.0, "batches": QUEUE, "violations": 4000},
        "not held",
        ["40.00% of scheduled", "the backlog grows"],
    ),
    (
        "a short stall of the system, seen by the generator: not its own lateness",
        {"latency_ms__lateness__p99": 150.0, "generator__own_lateness_p99_ms": 0.3},
        "held",
        [],
    ),
    (
        "no lateness of its own at all",
        {"latency_ms__lateness__p99": 150.0, "generator__own_lateness_p99_ms": 0.0},
        "held",
        [],
    ),
    (
        "own lateness while connections were busy as well",
        {"generator__own_lateness_p99_ms": 30.0, "batches": QUEUE},
        "invalid",
        ["P99 30.00 ms"],
    ),
    (
        "never sent although a connection was free",
        {"counts__sent": 9949, "counts__unsent": 51, "by_generator__neglected": 51},
        "invalid",
        ["never sent 51 of 10000 requests, 0.51%, although a connection was free"],
    ),
    ("just enough sent", {"counts__sent": 9950, "counts__unsent": 50, "by_generator__neglected": 50}, "held", []),
    (
        "unsent, because the system kept every connection busy",
        {"counts__sent": 9000, "counts__unsent": 1000, "counts__completed": 8990, "violations": 1012, "batches": QUEUE},
        "not held",
        ["10.12% of scheduled", "1000 unsent", "the backlog grows"],
    ),
    (
        "nothing sent at all",
        {
            "counts__sent": 0,
            "counts__unsent": 10_000,
            "by_generator__neglected": 10_000,
            "latency_ms__lateness__p99": None,
        },
        "invalid",
        ["never sent 10000 of 10000 requests"],
    ),
    ("nothing scheduled", {"counts__offered": 0, "counts__sent": 0}, "invalid", ["no request was scheduled"]),
    ("a plan that does not tell its connections", {"plan": {}}, "held", []),
    ("throttled", {"generator__throttled_s": 0.31}, "invalid", ["throttled", "took the CPU away for 0.31 s"]),
    ("a quota that was never reached", {"generator__throttled_s": 0.0}, "held", []),
    ("no control group to tell", {"generator__throttled_s": None}, "held", []),
    (
        "a script that could not keep up",
        {"plan": SCRIPTED, "generator__script_starved": 51},
        "invalid",
        ["the script could not keep up: 51 of 10000 requests were due before it had made them"],
    ),
    ("a script that nearly could not", {"plan": SCRIPTED, "generator__script_starved": 50}, "held", []),
    ("operations that were made late, within the budget", {"generator__script_starved": 900}, "held", []),
    (
        "a script that was late now and then, and by much",
        {"plan": SCRIPTED, "generator__script_starved": 7, "generator__own_lateness_p99_ms": 30.0},
        "invalid",
        ["sent late: P99 30.00 ms", "7 requests of the script were due before they were made"],
    ),
    (
        "steps that were skipped are no fault of the generator",
        {"counts__sent": 9800, "counts__skipped": 200, "counts__errors": 203, "counts__completed": 9790},
        "not held",
        [
            "97.90% of requests completed",
            "200 of the errors are steps that were not sent because an earlier step had failed",
        ],
    ),
    (
        "a closed loop waits for the system, and its backlog is its clients",
        {"loop": "closed", "planned": 0, "offered_rate": 0, "latency_ms__lateness__p99": 900.0, "batches": QUEUE},
        "held",
        [],
    ),
    (
        "a closed loop counts violations of what was sent",
        {"loop": "closed", "planned": 0, "violations": 101},
        "not held",
        ["1.01% of requests (101 of 10000)"],
    ),
    (
        "a closed loop whose generator slept longer than its clients thought",
        {"loop": "closed", "planned": 0, "generator__own_lateness_p99_ms": 30.0},
        "invalid",
        ["sent late: P99 30.00 ms"],
    ),
    ("a closed loop can be saturated", {"loop": "closed", "generator__cpu_share": 0.99}, "invalid", ["saturated"]),
]


@pytest.mark.parametrize(
    ("changes", "verdict", "reasons"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_table_of_cases(changes: dict[str, Any], verdict: str, reasons: list[str]) -> None:
    result = judged(changed(**changes), SLO)
    assert result.verdict == verdict, result.reasons
    assert bool(result.reasons) == (verdict != "held")
    for reason in reasons:
        assert reason in " | ".join(result.reasons)


def test_several_percentiles_each_have_a_say() -> None:
    slo = Slo.model_validate({"p50": "10ms", "p90": "50ms", "p99": "200ms"})
    result = judged(summary(), slo)
    assert result == Verdict("not held", ("P50 is 15.0 ms, above 10 ms",))


@pytest.mark.parametrize(("limit", "held"), [("96ms", True), ("94ms", False)])
def test_a_percentile_without_a_key_comes_from_the_spectrum_rounded_up(limit: str, held: bool) -> None:
    slo = Slo.model_validate({"p98": limit, "p99": "200ms"})
    result = judged(summary(), slo)
    assert (result.verdict == "held") is held
    assert held or "P98 is 95.0 ms" in result.reasons[0]


def test_a_percentile_beyond_the_spectrum_is_the_maximum() -> None:
    slo = Slo.model_validate({"p9999": "10s", "p9995": "255ms"})
    assert judged(changed(violations=0), slo).reasons == ("P99.95 is 260.0 ms, above 255 ms",)


def test_the_violations_count_against_the_share_of_the_strictest_percentile() -> None:
    for key, most in (("p90", 1000), ("p95", 500), ("p99", 100), ("p999", 10)):
        slo = Slo.model_validate({key: "200ms"})
        assert judged(changed(violations=most), slo).verdict == "held"
        assert judged(changed(violations=most + 1), slo).verdict == "not held"


def test_the_completed_share_is_the_slos_own() -> None:
    few = changed(counts__completed=9600, counts__errors=393, violations=400)
    assert judged(few, Slo.model_validate({"p95": "200ms", "completed": "95%"})).verdict == "held"
    strict = judged(summary(), Slo.model_validate({"p99": "200ms", "completed": "99.95%"}))
    assert strict.verdict == "not held" and "less than 99.95 %" in strict.reasons[0]


def test_what_the_deployment_did_wrong_makes_it_invalid_with_every_reason() -> None:
    result = judged(
        changed(violations=5000), SLO, audit=["audit: web-1 has 2 CPUs, requested 1"], events=["web-1 died"]
    )
    assert result == invalid("audit: web-1 has 2 CPUs, requested 1", "web-1 died")


def test_a_crashed_generator_is_invalid() -> None:
    result = judged(None, SLO, events=["search-1 restarted"])
    assert result == invalid("search-1 restarted", "the load generator ended without a summary")


def test_a_starved_script_is_a_warning() -> None:
    result = judged(changed(generator__script_starved=7), SLO)
    assert result.verdict == "held"
    assert "7 requests were due before they were made" in result.warnings[0]


def test_what_a_script_did_not_hear_of_and_what_was_not_recorded_are_warnings() -> None:
    result = judged(changed(generator__script_lost=3, generator__requests_lost=5), SLO)
    assert result.verdict == "held"
    assert "3 answers were not passed" in result.warnings[0]
    assert "5 requests are missing in requests.parquet" in result.warnings[1]


def test_connections_that_could_not_be_made_are_reported_and_sockets_that_failed_here_are_invalid() -> None:
    made = {"requested": 64, "made": 64, "connects": 70, "failed": 6, "local": 0, "why": "", "unreachable": []}
    assert judged(changed(connections=made), SLO).warnings == judged(summary(), SLO).warnings
    fewer = judged(changed(connections={**made, "made": 60, "unreachable": ["10.0.0.7:80"]}), SLO)
    assert fewer.verdict == "held"
    assert fewer.warnings[:2] == (
        "only 60 of 64 connections were open when the load began",
        "received no load, as they accepted no connection: 10.0.0.7:80",
    )
    lacking = judged(changed(connections={**made, "local": 3, "why": "too many open files"}), SLO)
    assert lacking.verdict == "invalid"
    assert "could not open 3 of its 70 sockets: too many open files" in lacking.reasons[0]


def test_a_trial_without_an_slo_is_measured_or_invalid() -> None:
    assert judged(summary(), None) == Verdict("measured")
    assert judged(changed(generator__cpu_share=0.99), None).verdict == "invalid"
    late = changed(generator__own_lateness_p99_ms=12.0)
    assert "budget 11 ms" in judged(late, None).reasons[0], "a tenth of the P99 that was measured"
    lost = late | {"counts": late["counts"] | {"completed": 9000, "errors": 993}}
    lost["latency_ms"] = late["latency_ms"] | {"intended": late["latency_ms"]["intended"] | {"p99": 5000.0}}
    assert "budget 11 ms" in judged(lost, None).reasons[0], "and not of the timeout, a lower bound"


@pytest.mark.parametrize(("budget_s", "verdict"), [(0.002, "invalid"), (0.005, "held"), (None, "held")])
def test_a_study_may_set_the_lateness_budget(budget_s: float | None, verdict: str) -> None:
    late = changed(generator__own_lateness_p99_ms=4.0)
    assert judged(late, SLO, lateness_s=budget_s).verdict == verdict


def test_the_lateness_budget_follows_the_slo() -> None:
    assert lateness_budget_ms(SLO) == 20
    assert lateness_budget_ms(Slo.model_validate({"p50": "40ms", "p99": "1s"})) == 4
    assert lateness_budget_ms(Slo.model_validate({"p99": "5ms"})) == 1


@given(st.lists(st.integers(0, 1), min_size=3, max_size=10))
def test_a_single_request_in_flight_is_no_trend(values: list[int]) -> None:
    """Five requests/s: half a request more at the end than at the start would be 1 % of the rate."""
    slow = changed(counts__offered=50, counts__sent=50, counts__completed=50, planned=50, violations=0)
    slow["batches"] = backlog([float(value) for value in values])
    assert judged(slow, SLO).verdict == "held"


@given(st.lists(st.integers(0, 10**6), max_size=10))
def test_any_fragment_of_batches_gets_a_verdict(values: list[int]) -> None:
    partial = changed(aborted=ABORTED)
    partial["batches"] = backlog([float(value) for value in values]) if values else []
    assert judged(partial, SLO).verdict == "not held"
    partial["aborted"] = None
    partial["less_own"]["backlog"] = [batch["backlog"] for batch in partial["batches"]]
    assert judged(partial, SLO).verdict in ("held", "not held")
