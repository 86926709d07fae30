"""What a study measures, in a clause."""

from __future__ import annotations

from loadstone.experiments.plan import Plan
from loadstone.model.base import plural
from loadstone.model.load import Closed
from loadstone.model.trial_settings import TrialSettings
from loadstone.model.units import format_share


def load_summary(plan: Plan) -> str:
    """``3 fixed rates x 10 repetitions under p99 <= 200ms``, for example."""
    load = plan.study.load
    if load.capacity is not None:
        precision = format_share(load.capacity.precision)
        return f"searches the capacity under {load.capacity.slo}, the breaking point to +-{precision}"
    trial = plan.study.trial
    repeated = (
        plural(trial.least, "repetition") if trial.least == trial.most else f"{trial.least} to {trial.most} repetitions"
    )
    if load.closed is not None:
        judged = f" under {load.slo}" if load.slo is not None else ""
        return f"closed loop with {_listed(load.closed.clients)}{_of_each(load.closed, trial)} x {repeated}{judged}"
    what = plural(len(load.rates), "fixed rate") if load.rates is not None else "a trace at its own pace"
    return f"{what} x {repeated} under {load.slo}{_generated(plan)}"


def _generated(plan: Plan) -> str:
    """``, from 3 client machines``: where one is not enough, or a number is given."""
    number = plan.load_workers or 1
    if number == 1:
        return ""
    return f", from {number} load workers" if plan.study.load.workers else f", from {number} client machines"


def _of_each(closed: Closed, trial: TrialSettings) -> str:
    """``, 10 iterations of 100 requests each, at 20 requests/s``: what the clients are to send."""
    sent = f"{trial.requests:,} requests in all" if trial.requests is not None else ""
    if closed.requests is not None:
        sent = f"{plural(closed.iterations, 'iteration')} of {closed.requests:,} requests each"
    paced = f"at most {closed.pace:g} requests/s" if closed.pace is not None else ""
    return "".join(f", {part}" for part in (sent, paced) if part)


def _listed(clients: list[int]) -> str:
    """``1, 5 and 20 clients``."""
    *most, last = map(str, clients)
    return f"{', '.join(most)} and {last} clients" if most else plural(clients[0], "client")
