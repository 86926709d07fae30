"""Numbers and plans in words, the same in every verb."""

from __future__ import annotations

from loadstone.experiments.plan import Plan


def plural(count: int, noun: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def clock(seconds: float) -> str:
    """``0:42``, ``12:05``, ``1:02:09``."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def load_in_words(plan: Plan) -> str:
    """What the study will do, in a clause."""
    load = plan.study.load
    if load.capacity is not None:
        return f"searches the breaking point under {load.capacity.slo} to +-{load.capacity.precision:.0%}"
    rates = load.rates or []
    repeated = plural(plan.study.trial.repetitions, "repetition")
    return f"{plural(len(rates), 'fixed rate')} x {repeated} under {load.slo}"
