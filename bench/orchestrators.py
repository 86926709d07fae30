"""Time from nothing to a cluster, and from files to a ready application, beside each orchestrator's own commands.

Hotel Reservation with small limits on one manager and two workers, all emulated hosts of this machine. ``apply`` counts
from delivered images to every replica healthy and the front end answering: stores first, then, once they are seeded
(which does not count), the services. The peer is the orchestrator's own command on the same files in the same cluster.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from bench import natively
from bench.common import Row, median_row, report
from loadstone.applications import catalogue
from loadstone.applications.seeding import Seeder
from loadstone.experiments.deployment import orchestrate
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan, make_plan
from loadstone.experiments.provisioning import infrastructure_of, provide
from loadstone.infrastructure import images, journal
from loadstone.infrastructure.base import Provision
from loadstone.infrastructure.binary import stone_binary
from loadstone.model.document import Document
from loadstone.orchestration.base import Orchestrator

ORCHESTRATORS = ("compose", "swarm", "nomad", "kubernetes")
ROUNDS = 3
TARGET = "at most 15 % or 2 s more"


def plan_for(orchestrator: str) -> Plan:
    """Hotel Reservation, so limited that it fits a laptop even where what is limited is reserved."""
    services = catalogue.load("hotel-reservation").application.services
    workers = 1 if orchestrator == "compose" else 2
    study = {
        "version": 1,
        "name": "bench",
        "application": "hotel-reservation",
        "orchestrator": orchestrator,
        "cluster": {"infrastructure": "namespaces", "workers": workers},
        "resources": {name: {"cpu": 0.08, "memory": "128MiB"} for name in services},
        "load": {"rates": [1], "slo": {"p99": "1s"}},
    }
    return make_plan(Document(yaml.safe_dump(study), f"bench/{orchestrator}"))


def main() -> None:
    if os.geteuid() != 0:
        raise SystemExit("run it as root: emulated hosts are network namespaces")
    rows: list[Row] = []
    for name in ORCHESTRATORS:
        with tempfile.TemporaryDirectory() as folder, state(Path(folder)):
            rows += measure(name, Path(folder))
    report("orchestrators", rows)


@contextmanager
def state(folder: Path) -> Iterator[None]:
    """A journal of the benchmark's own, emptied whatever happens."""
    before = os.environ.get("LOADSTONE_STATE")
    os.environ["LOADSTONE_STATE"] = str(folder / "state")
    try:
        yield
    finally:
        journal.remove_all()
        os.environ.pop("LOADSTONE_STATE")
        if before is not None:
            os.environ["LOADSTONE_STATE"] = before


def measure(name: str, folder: Path) -> list[Row]:
    """The rows of one orchestrator: clusters, then deployments, ours and theirs by turns in the last cluster."""
    plan = plan_for(name)
    infrastructure = infrastructure_of(plan.study.cluster, "bench")
    ups: list[float] = []
    provision = Provision(())
    for _ in range(ROUNDS):
        infrastructure.release()
        started = time.monotonic()
        provision = provide(plan.treatments[0], infrastructure, Listener())
        ups.append(time.monotonic() - started)
    ours: list[float] = []
    theirs: list[float] = []
    deployable = plan.deployable(plan.treatments[0])
    first = orchestrate(deployable, provision, "bench", folder / "images")
    assert provision.access is not None
    images.deliver(provision.access, list(first.deployment.images))
    for number in range(ROUNDS):
        ours.append(_ours(plan, orchestrate(deployable, provision, f"bench-{number}", folder / str(number))))
        other = orchestrate(deployable, provision, f"native-{number}", folder / f"native-{number}")
        theirs.append(_theirs(plan, other, natively.COMMANDS[name]))
    infrastructure.release()
    own, native = statistics.median(ours), statistics.median(theirs)
    added = Row(
        f"{name}: apply to ready",
        "s",
        own,
        min(ours),
        max(ours),
        "its own command",
        native,
        own / native,
        TARGET,
        own <= 1.15 * native or own - native <= 2,
    )
    return [median_row(f"{name}: up to ready", "s", ups), added]


def _ours(plan: Plan, orchestrator: Orchestrator) -> float:
    """Seconds of Loadstone's two steps; what is seeded between them does not count."""

    def step(stores_only: bool) -> float:
        started = time.monotonic()
        orchestrator.apply(stores_only)
        orchestrator.ready(stores_only)
        return time.monotonic() - started

    seconds = step(stores_only=True)
    _seed(plan, orchestrator)
    seconds += step(stores_only=False)
    orchestrator.remove()
    return seconds


def _theirs(plan: Plan, orchestrator: Orchestrator, deploy: natively.Deploy) -> float:
    """Seconds of the same two steps by the orchestrator's own command, with a password for the stores like ours."""
    orchestrator.prepare(lambda _sentence: None)
    for file, text in orchestrator.render().items():
        path = orchestrator.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    services = orchestrator.deployment.services()
    stores = [name for name, replicas in services.items() if replicas[0].software is not None]

    def step(names: list[str]) -> float:
        started = time.monotonic()
        deploy(orchestrator, orchestrator.folder, names)
        return time.monotonic() - started

    seconds = step(stores)
    orchestrator.ready(stores_only=True)  # a command may come back before a store accepts connections
    _seed(plan, orchestrator)
    seconds += step(list(services))
    orchestrator.remove()
    return seconds


def _seed(plan: Plan, orchestrator: Orchestrator) -> None:
    Seeder(stone_binary(), plan.application, orchestrator, orchestrator.deployment).seed()


if __name__ == "__main__":
    main()
