"""Which settings machines support, checked before anything is changed."""

from __future__ import annotations

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.tuning.machine import Tunable, knob_values
from loadstone.model.records.node.tuning import KnobsAnswer
from loadstone.model.tuning import Tuning


def inventory(found: KnobsAnswer) -> Finding:
    """The knobs that a machine has, with what they can be set to."""
    known = [f"{knob.knob} ({knob.offers})" for knob in found.knobs]
    return Finding("tuning", "ok", "; ".join(known) or "this machine has no knobs that a study could set")


def preflight(tuning: Tuning, machine: Tunable) -> list[Finding]:
    """What of a tuning a machine lacks or does not take."""
    problems = machine.knobs(knob_values(tuning)).problems
    found = [Finding(f"tuning.{problem.knob}", "error", problem.message, problem.remedy) for problem in problems]
    return found or [Finding("tuning", "ok", f"{tuning} can be set here, and is undone")]
