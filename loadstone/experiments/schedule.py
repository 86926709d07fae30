"""Which trial is next: a pure function of the plan, of what has finished, and of what was predicted.

Nothing else is remembered, so a run that was killed goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from loadstone.experiments import pruning, reference_treatments, repeating
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.next_trial import NextTrial, Outcome
from loadstone.experiments.plan import Plan
from loadstone.experiments.search import Search, SearchFailed, SearchResult, expected_trials, next_probe
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.trial import Phase, Treatment, Trial

if TYPE_CHECKING:
    from loadstone.analysis.capacity import Registered

ROUND = 5
"""Trials of one search before an interleaved study turns to the next treatment: deploying anew is not free."""

Campaign = pruning.Campaign
"""A capacity search: of a treatment, and which of its searches."""


def next_trial(plan: Plan, records: Sequence[FinishedTrial], foretold: Sequence[Registered] = ()) -> Trial | None:
    """The next trial, or None when the study is complete."""
    if plan.study.load.capacity is None:
        return next(to_come(plan, records), None)
    for campaign in _in_turn(plan, records, foretold):
        step = _step(plan, campaign, records)
        if not isinstance(step, SearchResult | SearchFailed):
            treatment, repetition = campaign
            # Not their count: where one was moved away, that is the number of a trial which is still there.
            number = max((record.row.number for record in records_of(campaign, records)), default=0) + 1
            return _trial(plan, treatment, step.phase, step.load, step.duration_s, repetition, number)
    return None


def deployed_for(plan: Plan, trial: Trial) -> tuple[object, ...]:
    """What a trial is deployed for: trials that follow each other share a deployment where this is the same.

    A comparison deploys anew for each run of a block, so that two runs of the baseline include the variance between
    deployments. Images whose data nothing empties are deployed anew where their stores are to be.
    """
    own, treatment = plan.of(trial.treatment), trial.treatment
    emptied = own.study.trial.reset if own.application.keeps_data() else "never"
    if "per-trial" in (own.study.trial.redeploy, emptied):
        return (trial.id,)
    if plan.study.comparison is not None:
        return treatment.id, trial.repetition, trial.number
    return (treatment.id if emptied == "per-treatment" else treatment.deployment,)


def _place(treatment_id: str, trial: Trial | TrialRow) -> tuple[Any, ...]:
    """Which trial of a run's plan it is."""
    return treatment_id, trial.phase, trial.rate, trial.clients, trial.repetition, trial.number


def _step(plan: Plan, campaign: Campaign, records: Sequence[FinishedTrial]) -> NextTrial | SearchResult | SearchFailed:
    """What a search does next, with the trials of the capacity model after it."""
    history = [record.outcome for record in records_of(campaign, records)]
    step = next_probe(search_settings(plan, campaign[0]), _of_search(history))
    if isinstance(step, SearchResult) and campaign in _modelled(plan):
        duration_s = plan.of(campaign[0]).study.trial.duration
        return reference_treatments.next_load(step.result.breaking_point.value, duration_s, history) or step
    return step


def _of_search(history: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in history if outcome.phase != "model"]


def _modelled(plan: Plan) -> list[Campaign]:
    """The searches that others are to be predicted from: they go first, and trials of the model follow each."""
    assert plan.study.load.capacity is not None
    return (
        [(base, 1) for base in reference_treatments.among(plan.treatments)] if plan.study.load.capacity.predict else []
    )


def found(plan: Plan, campaign: Campaign, records: Sequence[FinishedTrial]) -> bool:
    """Whether a search is over and has found a breaking point."""
    return isinstance(_step(plan, campaign, records), SearchResult)


def left_out(plan: Plan, records: Sequence[FinishedTrial], foretold: Sequence[Registered]) -> dict[str, str]:
    """Treatments that a guided study does not measure, each with the one that beats it, by id."""

    def low(treatment: Treatment) -> float | None:
        step = _step(plan, (treatment, 1), records)
        return step.result.breaking_point.low if isinstance(step, SearchResult) else None

    capacity = plan.study.load.capacity
    return pruning.left_out(plan.treatments, records, foretold, low) if capacity and capacity.guided else {}


def remaining(plan: Plan, records: Sequence[FinishedTrial], foretold: Sequence[Registered] = ()) -> float:
    """About how many trials are still to come; of a guided study as many as if nothing more were left out."""
    if plan.study.load.capacity is None:
        return sum(1 for _ in to_come(plan, records))
    total = 0.0
    without = left_out(plan, records, foretold)
    for campaign in campaigns(plan):
        if campaign[0].id in without:
            continue
        history = [record.outcome for record in records_of(campaign, records)]
        total += expected_trials(search_settings(plan, campaign[0]), _of_search(history))
        if campaign in _modelled(plan):
            total += max(0, len(reference_treatments.LOADS) - sum(outcome.phase == "model" for outcome in history))
    return total


def failures(plan: Plan, records: Sequence[FinishedTrial]) -> list[str]:
    """Why searches ended without a breaking point, and repetitions without the precision, as sentences."""
    if plan.study.load.capacity is None:
        return repeating.unreached(plan.study.trial.repetitions, records)
    return [sentence for sentence, _ in _failed(plan, records)]


def failures_by_invalid_trials(plan: Plan, records: Sequence[FinishedTrial]) -> list[str]:
    """The failures of searches that invalid trials caused."""
    return [sentence for sentence, failed in _failed(plan, records) if failed.by_invalid_trials]


def _failed(plan: Plan, records: Sequence[FinishedTrial]) -> Iterator[tuple[str, SearchFailed]]:
    """The searches that ended without a breaking point, each with a sentence."""
    for campaign in campaigns(plan):
        step = _step(plan, campaign, records)
        if isinstance(step, SearchFailed):
            yield f"{campaign[0].label}: {step.reason}", step


def search_settings(plan: Plan, treatment: Treatment) -> Search:
    """The capacity search of a treatment."""
    own = plan.of(treatment).study
    capacity = own.load.capacity
    assert capacity is not None
    return Search(
        start=capacity.start,
        lowest=min(Search.lowest, capacity.start),
        highest=capacity.highest,
        precision=capacity.precision,
        fine_s=own.trial.duration,
        bracket_s=min(capacity.bracket_duration, own.trial.duration),
    )


def campaigns(plan: Plan) -> list[Campaign]:
    """Every search of the study."""
    repetitions = range(1, plan.study.trial.most + 1)
    return [(treatment, repetition) for repetition in repetitions for treatment in plan.treatments]


def records_of(campaign: Campaign, records: Sequence[FinishedTrial]) -> list[FinishedTrial]:
    """The finished trials of one search, in order."""
    treatment, repetition = campaign
    return [r for r in records if r.treatment_id == treatment.id and r.repetition == repetition]


def to_come(plan: Plan, records: Sequence[FinishedTrial]) -> Iterator[Trial]:
    """The trials of a study with fixed rates or numbers of clients that have not finished, in their order."""
    # By what they are, not by their ids: those change with every setting that a release adds.
    done = {_place(record.treatment_id, record.row) for record in records}
    return (trial for trial in fixed_trials(plan, records) if _place(trial.treatment.id, trial) not in done)


def fixed_trials(plan: Plan, records: Sequence[FinishedTrial] = ()) -> Iterator[Trial]:
    """The trials of a study with fixed rates or numbers of clients, in the order in which they are run.

    Interleaved: one block a repetition, in which treatments and the loads of each come in a shuffled order, so that
    drift of the machine meets all alike. Sequential: treatment by treatment. In a comparison the baseline comes twice
    in a block, with its number 2 the second time. A rule may end it earlier: after how many blocks, ``records`` say.
    """
    study = plan.study
    if study.trial.order == "sequential":
        for treatment in plan.treatments:
            for load, repetition in itertools.product(_loads(plan, treatment), range(1, study.trial.most + 1)):
                yield _fixed_trial(plan, treatment, load, repetition, 1)
        return
    runs = [(treatment, 1) for treatment in plan.treatments]
    if study.comparison is not None:
        runs.append((plan.baseline, 2))
    # Treatments of one deployment follow each other: deploying takes longer than a trial.
    deployments: dict[tuple[str, int], list[tuple[Treatment, int]]] = {}
    for treatment, number in runs:
        deployments.setdefault((treatment.deployment, number), []).append((treatment, number))
    shuffle = random.Random(study.load.seed).sample
    trials = 0
    for repetition in range(1, study.trial.most + 1):
        if repeating.ends(study.trial.repetitions, repetition - 1, trials, records):
            return
        for together in shuffle([*deployments.values()], len(deployments)):
            for treatment, number in shuffle(together, len(together)) if len(together) > 1 else together:
                loads = _loads(plan, treatment)
                for load in shuffle(loads, len(loads)):
                    trials += 1
                    yield _fixed_trial(plan, treatment, load, repetition, number)


def _loads(plan: Plan, treatment: Treatment) -> Sequence[float]:
    """The rates of a treatment, or its numbers of clients; a trace at its own pace is one load, without a rate."""
    load = plan.of(treatment).study.load
    return load.closed.clients if load.closed is not None else load.rates or [0.0]


def _fixed_trial(plan: Plan, treatment: Treatment, load: float, repetition: int, number: int) -> Trial:
    study = plan.of(treatment).study
    if study.load.closed is None:
        return _trial(plan, treatment, "fixed", load, study.trial.window_s(load), repetition, number)
    longest = study.trial.limit if study.trial.counts(study.load) else study.trial.duration
    return _trial(plan, treatment, "closed", load, longest, repetition, number)


def _in_turn(plan: Plan, records: Sequence[FinishedTrial], foretold: Sequence[Registered]) -> list[Campaign]:
    """Searches in the order in which they may go on: the current one first until its round is over."""
    assert plan.study.load.capacity is not None
    order = campaigns(plan)
    if first := [campaign for campaign in _modelled(plan) if isinstance(_step(plan, campaign, records), NextTrial)]:
        order = first
    elif plan.study.load.capacity.guided:
        without = left_out(plan, records, foretold)
        return pruning.in_turn([campaign for campaign in order if campaign[0].id not in without], records, foretold)
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
    own = plan.of(treatment)
    load = own.study.load.model_dump(mode="json", exclude={"rates", "capacity", "seed"})
    load["slo"] = own.study.load.objective.model_dump(mode="json") if own.study.load.objective else None
    if load["closed"] is not None:
        del load["closed"]["clients"]
    # The seed knows no treatment: equal trials of two treatments send the same requests, which pairs them. So do the
    # two runs of a baseline in its block.
    probe = 1 if phase in ("fixed", "closed") else number
    seed = _number([own.study.load.seed, phase, amount, repetition, probe])
    return Trial(
        treatment=treatment,
        phase=phase,
        rate=0.0 if phase == "closed" else amount,
        clients=int(amount) if phase == "closed" else None,
        repetition=repetition,
        number=number,
        warmup_s=own.study.trial.warmup_s(0.0 if phase == "closed" else amount),
        duration_s=duration_s,
        requests=own.study.trial.requests if phase == "closed" else None,
        warmup_requests=own.study.trial.warmup_requests,
        load_digest=f"{_number([load, dict(own.files)]):016x}",
        seed=seed,
    )


def _number(value: object) -> int:
    """A 63-bit number from any JSON value, the same everywhere."""
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
