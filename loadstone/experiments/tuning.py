"""The hosts of the treatment that runs, tuned as it wants them, and back as they were when it ends."""

from __future__ import annotations

from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan
from loadstone.infrastructure import tuning
from loadstone.infrastructure.base import Finding, Provision
from loadstone.infrastructure.tuning import Change, Host
from loadstone.model.trial import Treatment
from loadstone.model.tuning import Tuning


class Tuner:
    """Keeps one tuning at a time. Each starts from the host as it was, never from another tuning."""

    def __init__(self, host: Host, listener: Listener) -> None:
        self._host = host
        self._listener = listener
        self._tuning: Tuning | None = None
        self.changes: list[Change] = []
        """What is set now, by file."""

    def keeps_cores(self, wanted: Tuning | None) -> bool:
        """Whether the same cores are there with another tuning, so that nodes stay what they are."""
        smt = [one.smt if one is not None else None for one in (self._tuning, wanted)]
        return smt[0] == smt[1]

    def tune(self, wanted: Tuning | None) -> None:
        """Set what a treatment wants; raises PreflightError, with everything as it was, where the host does not."""
        if wanted == self._tuning:
            return
        self.release()
        if wanted is None:
            return
        self.changes = tuning.apply(wanted, self._host, self._listener.step)
        self._tuning = wanted
        for knob in dict.fromkeys(change.knob.key for change in self.changes if change.refused):
            left = [change for change in self.changes if change.refused and change.knob.key == knob]
            first = f"{left[0].file}{f' and {len(left) - 1} more' if len(left) > 1 else ''}"
            self._listener.note(f"tuning.{knob}: the kernel does not let go of {first}; left as before")

    def release(self) -> None:
        """Set everything back; also what an interruption left half done."""
        if self._tuning is not None:
            self._listener.step("setting this host back")
        tuning.undo(self._host)
        self._tuning, self.changes = None, []


def findings(treatment: Treatment, provision: Provision, host: Host) -> list[Finding]:
    """What of a treatment's tuning cannot be done: knobs that this machine lacks, nodes that are others."""
    wanted = treatment.settings.tuning
    if wanted is None:
        return []
    far = [node.name for node in provision.nodes if not node.here]
    if far:
        message = f"{', '.join(far)}: another machine, whose knobs cannot be set from here"
        remedy = "leave tuning out, or use infrastructure: local or namespaces on the machine itself"
        return [Finding("tuning", "error", message, remedy)]
    return tuning.preflight(wanted, host)


def settled(plan: Plan) -> frozenset[str]:
    """The knobs that every treatment of a plan sets."""
    given = [
        set(treatment.settings.tuning.model_dump(exclude_none=True)) if treatment.settings.tuning is not None else set()
        for treatment in plan.treatments
    ]
    return frozenset(set.intersection(*given))
