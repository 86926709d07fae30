"""What a plan needs of machines that cost: how many, for how long, at what price, and whether they are held so long."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from loadstone.experiments import durations, schedule
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import demands, infrastructure_of
from loadstone.infrastructure.base import Finding, Terms
from loadstone.model.base import plural
from loadstone.model.units import format_seconds

_PREPARING_S = 1800.0
"""From the request of machines until they are used: those of bare metal are installed and booted twice."""


@dataclass(frozen=True)
class MachineCost:
    """What a plan costs: the machines that are made for it, and for how many seconds its trials use them."""

    terms: Terms | None
    seconds: float | None

    @property
    def machine_hours(self) -> float | None:
        """None where there are no such machines, or only a first trial can tell how long they are used."""
        if self.terms is None or self.seconds is None:
            return None
        return self.terms.machines * (self.seconds + _PREPARING_S) / 3600

    def __str__(self) -> str:
        if self.terms is None:
            return "no machines are made for it"
        hours = self.machine_hours
        machines = f"{plural(self.terms.machines, 'machine')} ({self.terms.kind})"
        if hours is None:
            return f"{machines}, for a time that the answers decide"
        price = self.terms.cost(hours) or "the provider tells no price (cluster.instances.price)"
        start = format_seconds(_PREPARING_S)
        return f"{machines}: about {hours:.1f} machine hours, with {start} to make them: {price}"

    def as_data(self) -> dict[str, Any] | None:
        """For JSON; None without such machines."""
        if self.terms is None:
            return None
        hours = self.machine_hours
        cost = self.terms.hourly * hours if self.terms.hourly is not None and hours is not None else None
        return {**asdict(self.terms), "machine_hours": hours, "cost": cost}


def of(plan: Plan) -> MachineCost:
    """What a plan needs. Raises PreflightError where the provider has to name a price and refuses."""
    return MachineCost(terms(plan), seconds(plan))


def terms(plan: Plan) -> Terms | None:
    """The terms of the most machines that a treatment needs; None where the plan's machines are there anyway."""
    found = [infrastructure_of(cluster, "plan").terms(wanted.managers) for cluster, wanted in demands(plan)]
    return max((each for each in found if each is not None), key=lambda each: each.machines, default=None)


def seconds(plan: Plan) -> float | None:
    """About how long the trials of a plan take; None where only a first trial can tell."""
    each = durations.trial_seconds(plan)
    return None if each is None else schedule.remaining(plan, []) * each


def ends_too_early(plan: Plan) -> list[Finding]:
    """A warning where a lease ends before the trials do."""
    found, planned = terms(plan), seconds(plan)
    if found is None or found.held_s is None or planned is None or planned + _PREPARING_S <= found.held_s:
        return []
    takes = format_seconds(round((planned + _PREPARING_S) / 60) * 60)
    message = (
        f"machines are held for {format_seconds(found.held_s)}, but the study takes about {takes} with their start"
    )
    return [Finding("lease", "warning", message, "set cluster.instances.hold longer, or resume the study later")]
