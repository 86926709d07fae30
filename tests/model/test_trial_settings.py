"""When a trial ends: by the time, or by a number of requests; and what does not go together."""

from __future__ import annotations

import pytest

from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.study import Study

RATES = "rates: [100], slo: {p99: 1s}"
CLOSED = "closed: {clients: [1, 5]}"
COUNTED = "closed: {clients: [1, 5], requests: 100, iterations: 10}"


def study(load: str, trial: str = "{}") -> Study:
    text = f"version: 1\nname: x\napplication: hotel-reservation\nload: {{{load}}}\ntrial: {trial}\n"
    return Document(text, "x.yaml").parse(Study)


def test_the_window_follows_from_the_rate() -> None:
    trial = study(RATES, "{requests: 5000, warmup: {requests: 300}}").trial
    assert (trial.window_s(100), trial.window_s(250)) == (50, 20)
    assert (trial.warmup_s(100), trial.warmup_s(300)) == (3, 1)
    assert study(RATES, "{duration: 12s, warmup: 2s}").trial.window_s(100) == 12
    assert study(RATES, "{duration: 12s, warmup: 2s}").trial.warmup_s(100) == 2


@pytest.mark.parametrize(
    ("load", "trial", "counts"),
    [
        (RATES, "{requests: 100}", False),
        (CLOSED, "{}", False),
        (CLOSED, "{requests: 100}", True),
        (COUNTED, "{limit: 1m}", True),
        ("closed: {clients: [3], pace: 20}", "{requests: 10000, warmup: {requests: 5000}}", True),
    ],
)
def test_which_trials_end_by_their_number_of_requests(load: str, trial: str, counts: bool) -> None:
    made = study(load, trial)
    assert made.trial.counts(made.load) is counts


WRONG = [
    (COUNTED, "{requests: 5000}", "trial.requests: load.closed.requests has each client send 100; keep one of the two"),
    (
        COUNTED,
        "{duration: 10s}",
        "trial.duration: the clients' requests end the window; remove it, or write trial.limit",
    ),
    (RATES, "{requests: 50, duration: 10s}", "trial.duration: 'requests' ends the window; keep one of the two"),
    (RATES, "{limit: 1m}", "trial.limit: is for a closed loop with a number of requests; remove it"),
    (CLOSED, "{limit: 1m}", "trial.limit: is for a closed loop with a number of requests; remove it"),
    (CLOSED, "{warmup: {requests: 9}}", "give trial.requests or load.closed.requests"),
    (CLOSED, "{requests: 4}", "trial.requests: 4 is fewer than 5 clients; each sends at least one"),
    ("closed: {clients: [2], iterations: 3}", "{}", "load.closed.iterations: of how many requests? Give 'requests'"),
    ("closed: {clients: [2000], requests: 1, iterations: 100}", "{}", "are 200,000, more than 100,000"),
    ("capacity: {slo: {p99: 1s}}", "{requests: 9}", "trial.requests: the trials of a search last as long as"),
    ("capacity: {slo: {p99: 1s}}", "{warmup: {requests: 9}}", "trial.warmup.requests: the trials of a search"),
    ("rates: [0.01], slo: {p99: 1s}", "{requests: 5000}", "load.rates.0: 5,000 requests at 0.01/s take"),
    (
        "rates: [5], slo: {p99: 1s}, arrival: {process: poisson, shape: [{for: 30s, rate: 1}]}",
        "{requests: 50}",
        "trial.requests: a rate with a shape needs a duration",
    ),
    (RATES, "{warmup: {request: 5}}", "trial.warmup.request"),
    (RATES, "{warmup: 5}", "trial.warmup: 5 has no unit"),
    (f"{RATES}, iterations: 3", "{}", "load.closed: {clients: [10], requests: 100, iterations: 10}"),
    (f"{RATES}, requests: 3", "{}", "write trial: {requests: 10000}"),
]


@pytest.mark.parametrize(("load", "trial", "complaint"), WRONG)
def test_what_does_not_go_together(load: str, trial: str, complaint: str) -> None:
    with pytest.raises(InputError) as refused:
        study(load, trial)
    assert complaint in str(refused.value)
