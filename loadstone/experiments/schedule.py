"""Which trial is next: a pure function of the plan and of what has finished.

Nothing else is remembered, so a run that was killed goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence

from loadstone.experiments.ledger import Record
from loadstone.experiments.plan import Plan
from loadstone.experiments.search import Failed, Found, Search, expected_trials, next_probe
from loadstone.model.trial import Phase, Treatment, Trial

ROUND = 5
"""Trials of one search before an interleaved study turns to the next treatment: deploying anew is not free."""

OVERHEAD_S = 3.0
"""Resetting, draining, collecting: a first guess of what surrounds a trial."""

Campaign = tuple[Treatment, int]
"""A capacity search: of a treatment, and which of its searches."""


def next_trial(plan: Plan, records: Sequence[Record]) -> Trial | None:
    """The next trial, or None when the study is complete."""
    if plan.study.load.capacity is None:
        done = {record.trial_id for record in records}
        return next((trial for trial in fixed_trials(plan) if trial.id not in done), None)
    for campaign in _in_turn(plan, records):
        history = records_of(campaign, records)
        step = next_probe(search_settings(plan), [record.outcome for record in history])
        if not isinstance(step, Found | Failed):
            treatment, repetition = campaign
            return _trial(plan, treatment, step.phase, step.load, step.duration_s, repetition, len(history) + 1)
    return None


def remaining(plan: Plan, records: Sequence[Record]) -> float:
    """About how many trials are still to come."""
    if plan.study.load.capacity is None:
        return len(list(fixed_trials(plan))) - len(records)
    settings = search_settings(plan)
    histories = [[record.outcome for record in records_of(campaign, records)] for campaign in campaigns(plan)]
    return sum(expected_trials(settings, history) for history in histories)


def failures(plan: Plan, records: Sequence[Record]) -> list[str]:
    """Why searches ended without a breaking point, as sentences."""
    if plan.study.load.capacity is None:
        return []
    found = []
    for campaign in campaigns(plan):
        step = next_probe(search_settings(plan), [record.outcome for record in records_of(campaign, records)])
        if isinstance(step, Failed):
            found.append(f"{campaign[0].label}: {step.reason}")
    return found


def trial_seconds(plan: Plan) -> float:
    """About how long a trial takes, before any has been seen: warm-up, window, and some seconds around them."""
    return plan.study.trial.warmup + plan.study.trial.duration + OVERHEAD_S


def search_settings(plan: Plan) -> Search:
    """The capacity search that the study asks for."""
    capacity = plan.study.load.capacity
    assert capacity is not None
    return Search(
        start=capacity.start,
        highest=capacity.highest,
        precision=capacity.precision,
        fine_s=plan.study.trial.duration,
        bracket_s=min(capacity.bracket_duration, plan.study.trial.duration),
    )


def campaigns(plan: Plan) -> list[Campaign]:
    """Every search of the study."""
    repetitions = range(1, plan.study.trial.repetitions + 1)
    return [(treatment, repetition) for repetition in repetitions for treatment in plan.treatments]


def records_of(campaign: Campaign, records: Sequence[Record]) -> list[Record]:
    """The finished trials of one search, in order."""
    treatment, repetition = campaign
    return [r for r in records if r.treatment_id == treatment.id and r.repetition == repetition]


def fixed_trials(plan: Plan) -> Iterator[Trial]:
    """All trials of a study with fixed rates or numbers of clients, in the order in which they are run.

    Interleaved: one block a repetition, in which treatments and the loads of each come in a shuffled order, so that
    drift of the machine meets all alike. Sequential: treatment by treatment.
    """
    study = plan.study
    closed = study.load.closed
    # A trace at its own pace is one load, whose rate nobody asked for.
    loads: Sequence[float] = closed.clients if closed is not None else study.load.rates or [0.0]
    repetitions = range(1, study.trial.repetitions + 1)
    if study.trial.order == "sequential":
        order = [(treatment, load, rep) for treatment in plan.treatments for load in loads for rep in repetitions]
    else:
        shuffle = random.Random(study.load.seed).sample
        order = [
            (treatment, load, rep)
            for rep in repetitions
            for treatment in shuffle(plan.treatments, len(plan.treatments))
            for load in shuffle(loads, len(loads))
        ]
    for treatment, load, repetition in order:
        phase: Phase = "fixed" if closed is None else "closed"
        yield _trial(plan, treatment, phase, load, study.trial.duration, repetition, 1)


def _in_turn(plan: Plan, records: Sequence[Record]) -> list[Campaign]:
    """Searches in the order in which they may go on: the current one first until its round is over."""
    order = campaigns(plan)
    if not records:
        return order
    last = records[-1]
    current = next((i for i, (t, r) in enumerate(order) if (t.id, r) == (last.treatment_id, last.repetition)), 0)
    if plan.study.trial.order == "interleaved" and len(records_of(order[current], records)) % ROUND == 0:
        current += 1
    return order[current:] + order[:current]


def _trial(
    plan: Plan, treatment: Treatment, phase: Phase, amount: float, duration_s: float, repetition: int, number: int
) -> Trial:
    """``amount`` is the rate, or the number of clients where the phase is ``closed``."""
    load = plan.study.load.model_dump(mode="json", exclude={"rates", "capacity", "seed"})
    load["slo"] = plan.study.load.objective.model_dump(mode="json") if plan.study.load.objective else None
    if load["closed"] is not None:
        del load["closed"]["clients"]
    # The seed knows no treatment: equal trials of two treatments send the same requests, which pairs them.
    seed = _number([plan.study.load.seed, phase, amount, repetition, number])
    return Trial(
        treatment=treatment,
        phase=phase,
        rate=0.0 if phase == "closed" else amount,
        clients=int(amount) if phase == "closed" else None,
        repetition=repetition,
        number=number,
        warmup_s=plan.study.trial.warmup,
        duration_s=duration_s,
        load_digest=f"{_number([load, dict(plan.files)]):016x}",
        seed=seed,
    )


def _number(value: object) -> int:
    """A 63-bit number from any JSON value, the same everywhere."""
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
