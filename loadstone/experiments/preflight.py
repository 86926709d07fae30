"""What stands in the way of a plan, found before anything is started."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.experiments import emulation, environments, tuning
from loadstone.experiments.deployment import orchestrate
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import demand, infrastructure_of, sketch
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.binary import stone_version
from loadstone.model.cluster import Node
from loadstone.model.errors import LoadstoneError, PreflightError, grouped
from loadstone.orchestration.resolve import refuse_impossible
from loadstone.workloads.base import Driver


def driver_of(plan: Plan) -> Driver:
    """The load driver of the study."""
    driver: Driver = plugins.find("drivers", plan.study.load.driver)()
    return driver


def inspect(plan: Plan, emulated_ok: bool = False) -> list[Finding]:
    """All findings, good and bad, of the driver, the infrastructure and each treatment's orchestrator.

    ``emulated_ok``: the user accepts that numbers of emulated nodes are compared.
    """
    driver = driver_of(plan)
    findings = list(dict.fromkeys([_stone(), *driver.preflight()]))
    if findings[0].level == "error":  # machines cannot be looked at without it
        return findings
    infrastructure = infrastructure_of(plan.study.cluster, "preflight")
    for wanted in dict.fromkeys(demand(plan.study.cluster, treatment) for treatment in plan.treatments):
        findings += infrastructure.preflight(*wanted)
    if any(finding.level == "error" for finding in findings):
        return list(dict.fromkeys(findings))
    deployments = []
    for treatment in plan.treatments:
        sketched = sketch(infrastructure, treatment)
        findings += [*tuning.findings(treatment, sketched.nodes), *_clients_elsewhere(driver, sketched.nodes)]
        findings += environments.findings(plan, treatment, sketched.nodes)
        with tempfile.TemporaryDirectory(prefix="loadstone-") as folder:
            try:
                orchestrator = orchestrate(plan, treatment, sketched, "preflight", Path(folder))
                deployments.append(orchestrator.deployment)
                refuse_impossible(orchestrator.deployment)
                findings += orchestrator.preflight()
            except LoadstoneError as error:
                findings.append(Finding(treatment.label, "error", str(error)))
    return list(dict.fromkeys([*findings, *emulation.node_counts(deployments, emulated_ok)]))


def _clients_elsewhere(driver: Driver, nodes: Sequence[Node]) -> list[Finding]:
    """An error where other machines are to generate load, and the driver cannot run there."""
    elsewhere = [node.name for node in nodes if node.role == "client" and not node.reach.local]
    if not elsewhere or driver.honours is None or "workers" in driver.honours:
        return []
    message = f"driver {driver.name!r} generates load on this machine alone, but {', '.join(elsewhere)} are clients"
    return [Finding("clients", "error", message, "use driver: stone, or remove the hosts with the role client")]


def require(plan: Plan, emulated_ok: bool = False) -> list[str]:
    """The warnings of a preflight, what an import lost first; raises PreflightError with every error and its remedy."""
    findings = inspect(plan, emulated_ok)
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        lines = [f"{f.what}: {f.message}" + (f"\n  {f.remedy}" if f.remedy else "") for f in errors]
        raise PreflightError("\n".join(lines))
    return [*grouped(plan.notes), *(f"{f.what}: {f.message}" for f in findings if f.level == "warning")]


def _stone() -> Finding:
    try:
        return Finding("stone", "ok", stone_version())
    except PreflightError as error:
        return Finding("stone", "error", str(error))


def surroundings(plan: Plan) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The versions of what the plan would deploy, and the nodes that it would get, for the provenance."""
    infrastructure = infrastructure_of(plan.study.cluster, "preflight")
    versions: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    for treatment in plan.treatments:
        sketched = sketch(infrastructure, treatment)
        nodes |= {node.name: node for node in sketched.nodes}
        versions |= orchestrate(plan, treatment, sketched, "preflight", Path()).versions()
    return versions, [node.model_dump(mode="json") for node in nodes.values()]
