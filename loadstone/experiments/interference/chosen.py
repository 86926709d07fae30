"""Which interference a treatment wants, and whether its nodes can have it."""

from __future__ import annotations

from pathlib import Path

from loadstone.experiments.interference import neighbour, stressing
from loadstone.experiments.interference.base import Interference, disturbed
from loadstone.experiments.plan import Deployable, Plan
from loadstone.infrastructure.base import Finding, Provision
from loadstone.model.deployment import Deployment
from loadstone.model.interference import Neighbour, Stressor
from loadstone.model.trial import Treatment


def interference_of(plan: Plan, treatment: Treatment, provision: Provision, folder: Path) -> Interference:
    """What disturbs a treatment, with nothing started yet; ``folder``: of its deployment."""
    match treatment.settings.interference:
        case Stressor() as stressor:
            return stressing.Stress(stressor, provision.access.cluster if provision.access is not None else "")
        case Neighbour() as wanted:
            return neighbour.OtherApplication(wanted, _beside(plan, treatment, wanted), provision, folder)
    return Interference()


def findings(
    plan: Plan, treatment: Treatment, deployment: Deployment, provision: Provision, folder: Path
) -> list[Finding]:
    """What of a treatment's interference cannot be done on its nodes. Raises LoadstoneError likewise."""
    wanted = treatment.settings.interference
    if wanted is None:
        return []
    if not disturbed(wanted.on, deployment, {}):
        names = ", ".join(node.name for node in deployment.nodes)
        message = f"interference.on: {wanted.on!r} is no service of {deployment.application}, and no node"
        return [Finding("interference", "error", message, f"nodes are: {names}")]
    if isinstance(wanted, Neighbour):
        return neighbour.findings(wanted, _beside(plan, treatment, wanted), deployment, provision, folder)
    return stressing.findings(wanted, deployment)


def _beside(plan: Plan, treatment: Treatment, wanted: Neighbour) -> Deployable:
    loaded = plan.of(treatment).neighbour
    assert loaded is not None, "the plan has read it"
    return neighbour.beside(plan.deployable(treatment), loaded, wanted)
