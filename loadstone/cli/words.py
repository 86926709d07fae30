"""Numbers and plans in words, the same in every verb."""

from __future__ import annotations

from loadstone.experiments.plan import Plan
from loadstone.report.format import plural


def clock(seconds: float) -> str:
    """``0:42``, ``12:05``, ``1:02:09``."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def load_in_words(plan: Plan) -> str:
    """What the study will do, in a clause."""
    load = plan.study.load
    if load.capacity is not None:
        return f"searches the capacity under {load.capacity.slo}, the breaking point to +-{load.capacity.precision:.0%}"
    trial = plan.study.trial
    repeated = (
        plural(trial.least, "repetition") if trial.least == trial.most else f"{trial.least} to {trial.most} repetitions"
    )
    if load.closed is not None:
        judged = f" under {load.slo}" if load.slo is not None else ""
        return f"closed loop with {_listed(load.closed.clients)} x {repeated}{judged}"
    what = plural(len(load.rates), "fixed rate") if load.rates is not None else "a trace at its own pace"
    return f"{what} x {repeated} under {load.slo}"


def _listed(clients: list[int]) -> str:
    """``1, 5 and 20 clients``."""
    *most, last = map(str, clients)
    return f"{', '.join(most)} and {last} clients" if most else plural(clients[0], "client")


def load_of(rate: float, clients: int | None) -> str:
    """``1,000 req/s``, or ``20 clients`` of a closed loop, or ``a trace`` at its own pace."""
    if rate == 0 and clients is None:
        return "a trace"
    return f"{rate:,.0f} req/s" if clients is None else plural(clients, "client")
