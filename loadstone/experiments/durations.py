"""How long trials take, before and while they are run."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.plan import Plan
from loadstone.experiments.schedule import ROUND, deployed_for, fixed_trials, remaining, search_settings, to_come
from loadstone.experiments.search import expected_trials
from loadstone.model.study import Study
from loadstone.model.trial import Treatment, Trial
from loadstone.orchestration.external import kind_of

if TYPE_CHECKING:
    from loadstone.analysis.capacity import Registered

OVERHEAD_S = 3.0
"""Resetting, draining, collecting: a first guess of what surrounds a trial."""


@dataclass(frozen=True)
class Outlook:
    """What is to come when a trial begins.

    Lengths are in seconds, or all 1 where answers decide how long a trial takes.
    """

    trials: float
    """About how many trials, this one included."""
    length: float
    """The length of this trial."""
    left: float
    """The time left for all trials to come, this one included."""
    in_seconds: bool = True


def outlook(
    plan: Plan,
    records: Sequence[FinishedTrial],
    trial: Trial,
    deployed: tuple[object, ...],
    foretold: Sequence[Registered] = (),
) -> Outlook:
    """What is to come before ``trial`` is run; ``deployed``: what that is for which a deployment stands, if any."""
    trials = remaining(plan, records, foretold)
    each = trial_seconds(plan)
    if each is None:
        return Outlook(trials, 1.0, trials, in_seconds=False)
    unpaused = 0.0 if records else plan.of(trial.treatment).study.trial.pause  # no trial is before the first
    if plan.study.load.capacity is not None:
        shorter = plan.of(trial.treatment).study.trial.duration - trial.duration_s + unpaused  # of the bracket
        return Outlook(trials, each - shorter, each * trials - shorter)
    lengths = []
    for coming in to_come(plan, records):
        study, before = plan.of(coming.treatment).study, deployed
        deployed = deployed_for(plan, coming)
        anew = deployed != before
        lengths.append((_seconds(study, coming.rate) or 0.0) + (_deploying_s(coming.treatment) if anew else 0.0))
    lengths[0] -= unpaused
    return Outlook(trials, lengths[0], sum(lengths))


def trial_seconds(plan: Plan) -> float | None:
    """About how long a trial takes, before any has been seen: warm-up, window, pause, some seconds around them, and its
    share of deployments.

    None where answers decide: clients that send a number of requests, without a pace. With one, the least.
    """
    if plan.study.load.capacity is None:
        planned = [(trial.treatment, deployed_for(plan, trial)) for trial in fixed_trials(plan)]
        trials = [treatment for treatment, _ in planned]
        deployed = [next(same)[0] for _, same in itertools.groupby(planned, operator.itemgetter(1))]
    else:
        trials = deployed = list(plan.treatments)
    seconds = [known for treatment in trials if (known := _seconds(plan.of(treatment).study)) is not None]
    if len(seconds) < len(trials):
        return None
    deploying = [_deploying_s(treatment) for treatment in deployed]
    if plan.study.load.capacity is not None:
        each = expected_trials(search_settings(plan, plan.treatments[0]), [])
        rounds = math.ceil(each / ROUND) if plan.study.trial.order == "interleaved" and len(trials) > 1 else 1.0
        rounds = each if plan.study.trial.redeploy == "per-trial" else rounds
        return mean(seconds) + mean(deploying) * rounds / each
    return (sum(seconds) + sum(deploying)) / len(trials)


def _seconds(study: Study, rate: float | None = None) -> float | None:
    """A trial without its deployment: at a rate, or the mean over those of the study."""
    load, trial = study.load, study.trial
    around = trial.pause + OVERHEAD_S
    if load.closed is None or not trial.counts(load):
        rates = [rate] if rate is not None else load.rates or [0.0]
        return mean(trial.warmup_s(rate) + trial.window_s(rate) for rate in rates) + around
    if load.closed.pace is None:
        return None
    each = (load.closed.requests or 0) * load.closed.iterations * mean(load.closed.clients)
    requests = (trial.requests or each) + (trial.warmup_requests or 0)
    return requests / load.closed.pace + trial.warmup_s(0.0) + around


def _deploying_s(treatment: Treatment) -> float:
    return kind_of(treatment.settings.orchestrator).deploying_s
