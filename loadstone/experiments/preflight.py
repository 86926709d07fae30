"""What stands in the way of a plan, found before anything is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from loadstone import plugins
from loadstone.experiments import client_machines, costs, emulation, environments, hardware, tuning
from loadstone.experiments.deployment import orchestrate
from loadstone.experiments.hardware import Hardware
from loadstone.experiments.interference import chosen as interference
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import demands, infrastructure_of, sketch
from loadstone.infrastructure import temporary
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.binary import stone_version
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import LoadstoneError, PreflightError, Problem, grouped
from loadstone.model.load import Load
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.resolve import refuse_impossible
from loadstone.workloads.base import Driver


def driver_of(load: Load) -> Driver:
    """The driver that generates a load."""
    driver: Driver = plugins.find("drivers", load.driver)()
    return driver


@dataclass(frozen=True)
class Inspection:
    """All findings, good and bad, of the driver, the infrastructure and each treatment's orchestrator."""

    findings: list[Finding]
    notes: Sequence[Problem]
    """What an import lost."""
    nodes: list[Node] = field(default_factory=list)
    """That the treatments would get."""
    hardware: dict[str, Hardware] = field(default_factory=dict)
    """Hardware of hosts that are machines of their own, by node."""
    orchestrators: list[Orchestrator] = field(default_factory=list)
    """Orchestrators of the treatments that can be deployed on nodes that are there."""

    @property
    def errors(self) -> list[Finding]:
        """What stands in the way."""
        return [finding for finding in self.findings if finding.level == "error"]

    @property
    def warnings(self) -> list[str]:
        """What an import lost first."""
        return [*grouped(self.notes), *(f"{f.what}: {f.message}" for f in self.findings if f.level == "warning")]

    def versions(self) -> dict[str, str]:
        """Versions of what would be deployed, by name."""
        return {name: version for found in self.orchestrators for name, version in found.versions().items()}


def inspect(plan: Plan, emulated_ok: bool = False) -> Inspection:
    """Changes nothing.

    ``emulated_ok``: the user accepts that numbers of emulated nodes are compared, and processors that are emulated.
    """
    emulated_ok = emulated_ok or any(own.study.cluster.emulated_ok for own in plan.own)
    driver = driver_of(plan.study.load)
    findings = list(dict.fromkeys([_stone(), *driver.preflight()]))
    if findings[0].level == "error":  # machines cannot be looked at without it
        return Inspection(findings, plan.notes)
    for cluster, wanted in demands(plan):
        infrastructure = wanted.of(infrastructure_of(cluster, "preflight"))
        findings += infrastructure.preflight(wanted.software, wanted.managers)
    findings += costs.ends_too_early(plan)
    if any(finding.level == "error" and finding.stops for finding in findings):
        return Inspection(list(dict.fromkeys(findings)), plan.notes)
    found = Inspection(findings, plan.notes)
    nodes: dict[str, Node] = {}
    deployments: list[Deployment] = []
    for treatment in plan.treatments:
        sketched = sketch(infrastructure_of(plan.of(treatment).study.cluster, "preflight"), treatment)
        nodes |= {node.name: node for node in sketched.nodes}
        findings += [*tuning.findings(treatment, sketched.nodes), *_clients_elsewhere(driver, sketched.nodes)]
        findings += client_machines.findings(plan.of(treatment).study, sketched.nodes)
        findings += environments.findings(plan, treatment, sketched.nodes)
        findings += emulation.software_processors(plan.study, sketched.nodes, emulated_ok)
        with temporary.directory("preflight") as folder:
            try:
                orchestrator = orchestrate(plan.deployable(treatment), sketched, "preflight", Path(folder))
                deployments.append(orchestrator.deployment)
                refuse_impossible(orchestrator.deployment)
                if not _yet_to_be_made(sketched.nodes):
                    found.orchestrators.append(orchestrator)
                    findings += interference.findings(plan, treatment, orchestrator.deployment, sketched, Path(folder))
                    findings += orchestrator.preflight()
            except LoadstoneError as error:
                findings.append(Finding(treatment.label, "error", str(error)))
    findings += emulation.node_counts(deployments, emulated_ok)
    machines = hardware.of_hosts(list(nodes.values()))
    findings += hardware.differences(list(nodes.values()), machines)
    return replace(found, findings=list(dict.fromkeys(findings)), nodes=list(nodes.values()), hardware=machines)


def _yet_to_be_made(nodes: Sequence[Node]) -> bool:
    """Whether nodes are machines that cannot be looked at before the study makes them."""
    return any(node.guest is not None or node.reach.planned for node in nodes)


def _clients_elsewhere(driver: Driver, nodes: Sequence[Node]) -> list[Finding]:
    """An error where other machines are to generate load, and the driver cannot run there."""
    elsewhere = [node.name for node in nodes if node.role == "client" and not node.reach.local]
    if not elsewhere or driver.honours is None or "workers" in driver.honours:
        return []
    message = f"driver {driver.name!r} generates load on this machine alone, but {', '.join(elsewhere)} are clients"
    return [Finding("clients", "error", message, "use driver: stone, or remove the hosts with the role client")]


def require(plan: Plan, emulated_ok: bool = False) -> Inspection:
    """``inspect``; raises PreflightError with every error and its remedy."""
    found = inspect(plan, emulated_ok)
    if found.errors:
        lines = [f"{f.what}: {f.message}" + (f"\n  {f.remedy}" if f.remedy else "") for f in found.errors]
        raise PreflightError("\n".join(lines))
    return found


def _stone() -> Finding:
    try:
        return Finding("stone", "ok", stone_version())
    except PreflightError as error:
        return Finding("stone", "error", str(error))
