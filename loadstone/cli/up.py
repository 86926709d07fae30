"""loadstone up: deploy an application and leave it running."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.cli import options
from loadstone.cli.app import Json, Overrides, Part, Scale, out, print_json, warn
from loadstone.cli.options import What, chosen_plan
from loadstone.cli.progress import Display
from loadstone.cli.restore import recover
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.interruption import interruptible
from loadstone.experiments.plan import Plan
from loadstone.experiments.preflight import require
from loadstone.experiments.provisioning import demand, entry_ports, infrastructure_of, provide
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Infrastructure, Provision
from loadstone.model.errors import InputError
from loadstone.model.trial import Treatment
from loadstone.orchestration.stacks import interfaces

EPILOG = (
    "Examples: [bold]loadstone up hotel-reservation[/], "
    "[bold]loadstone up hotel-reservation --orchestrator swarm --workers 3[/], "
    "[bold]loadstone up hotel-reservation --orchestrator nomad --cluster-only[/]"
)


def command(
    what: What,
    orchestrator: options.Orchestrator = None,
    scaling: options.Scaling = None,
    profile: options.Profile = None,
    documents: options.Documents = None,
    dataset: options.Dataset = None,
    infrastructure: options.Infrastructure = None,
    managers: options.Managers = None,
    workers: options.Workers = None,
    stack: options.Stacks = None,
    overrides: Overrides = None,
    part: Part = None,
    scale: Scale = None,
    cluster_only: Annotated[
        bool, typer.Option("--cluster-only", help="Start the cluster without deploying the application.")
    ] = False,
    json: Json = False,
) -> None:
    """Start the cluster, deploy, seed and wait until ready; print the address. `loadstone down` removes it."""
    plan = chosen_plan(
        what,
        overrides,
        stack,
        orchestrator=orchestrator,
        scaling=scaling,
        profile=profile,
        documents=documents,
        dataset=dataset,
        infrastructure=infrastructure,
        managers=managers,
        workers=workers,
        part=part,
        scale=scale,
    )
    recover(plan)
    name = f"up-{plan.study.name}"
    there = journal.load(journal.cluster_name(name))
    # A cluster that was made before can be the existing one that this is deployed on.
    if journal.load(name) is not None or (there and there.implementation == plan.study.cluster.infrastructure):
        raise InputError(f"{plan.study.name} is up already; `loadstone down` removes it")
    for warning in require(plan).warnings:
        warn(warning)
    if plan.treatments[0].settings.tuning is not None:
        warn("`up` does not tune hosts; only `loadstone run` does")
    nodes = demand(plan.study.cluster, plan.treatments[0]).of(infrastructure_of(plan.study.cluster, name))
    with interruptible(), Display() as display:
        wanted = demand(plan.study.cluster, plan.treatments[0])
        nodes.acquire(wanted.software, wanted.managers, display.step, entry_ports(own.application for own in plan.own))
        provision = _provided(plan.treatments[0], nodes, display)
        deployed = None if cluster_only else _deploy(plan, name, nodes, provision, display)
    _print_outcome(plan, name, provision, deployed, json)


def _provided(treatment: Treatment, nodes: Infrastructure, display: Display) -> Provision:
    try:
        return provide(treatment, nodes, display)
    except BaseException:
        nodes.give_back(False, display.step)
        raise


def _deploy(plan: Plan, name: str, nodes: Infrastructure, provision: Provision, display: Display) -> Deployed:
    try:
        folder = journal.state_folder() / f"{name}.files"
        deployed = Deployed(plan.deployable(plan.treatments[0]), provision, name, folder)
        deployed.start(display)
        return deployed
    except BaseException:
        nodes.release()
        nodes.give_back(False, display.step)
        raise


def _print_outcome(plan: Plan, name: str, provision: Provision, deployed: Deployed | None, json: bool) -> None:
    workload = plan.treatments[0].settings.workload or plan.application.default_workload
    urls = deployed.urls() if deployed is not None else {}
    url = urls.get(workload) or (f"http://{deployed.targets()[0]}" if deployed is not None else None)
    elsewhere = {name: other for name, other in urls.items() if other != url}
    replicas = len(deployed.deployment.replicas) if deployed is not None else 0
    for row in deployed.orchestrator.audit() if deployed is not None else []:
        if not row.ok:
            warn(f"{row.replica} has {row.what} {row.effective}, requested {row.wanted}")
    access = provision.access
    stacks = interfaces(deployed.deployment) if deployed is not None else {}
    if json:
        data = {"name": name, "url": url, "replicas": replicas, **({"stacks": stacks} if stacks else {})}
        data |= {"entries": urls} if elsewhere else {}
        print_json(data if access is None else {**data, "access": access.as_data()})
        return
    if access is not None:
        out.print(f"{access.software}: {len(provision.nodes) - 1} nodes, {' '.join(access.addresses)}", markup=False)
        if file := access.extra.get("credentials"):
            out.print(f"its addresses and tokens, for a shell: . {file}", markup=False)
    if url is not None:
        out.print(f"{plan.application.name} is up: {replicas} replicas, {url}")
    for workload, other in elsewhere.items():
        out.print(f"requests of {workload}: {other}", markup=False)
    for stack, interface in stacks.items():
        out.print(f"{stack}: {interface}", markup=False)
    out.print(f"remove it with: loadstone down {name if url else journal.cluster_name(name)}")
