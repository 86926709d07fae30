"""What environments cost a study: time from demand to ready, the memory of a guest, and switching between them.

The shop on one worker, by turns as processes of an emulated host, in containers of its engine, and as both in a virtual
machine in its place, as the blocks of a study have them. Ready is every replica, seeded. What is made once (images of
guests and of containers) is made in a first block that does not count.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bench.common import Row, median_row, report
from bench.orchestrators import state
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan, make_plan
from loadstone.experiments.provisioning import Provider, infrastructure_of
from loadstone.infrastructure.base import Provision
from loadstone.infrastructure.machines import connect, this_machine
from loadstone.model.document import Document
from loadstone.model.guest import Accelerator
from loadstone.model.records.node.replicas import Subject
from loadstone.model.trial import Treatment

ENVIRONMENTS = ("bare", "container", "vm", "vm-container")
ROUNDS = 10


@dataclass
class _Measured:
    """Seconds from demand to ready by environment, seconds of each change, and MiB that QEMU has beyond its guest."""

    ready: dict[str, list[float]] = field(default_factory=dict)
    changes: list[float] = field(default_factory=list)
    overhead: list[float] = field(default_factory=list)
    accelerator: Accelerator = "kvm"


def plan() -> Plan:
    """The shop in all environments, with limits that fit any machine."""
    services = ("order", "user", "payment", "postgres-order", "postgres-user", "postgres-payment")
    study = {
        "version": 1,
        "name": "bench",
        "application": "shop",
        "cluster": {"infrastructure": "qemu"},
        "resources": {name: {"cpu": 0.5, "memory": "128MiB"} for name in services},
        "factors": {"environment": list(ENVIRONMENTS)},
        "load": {"rates": [1], "slo": {"p99": "1s"}},
    }
    return make_plan(Document(yaml.safe_dump(study), "bench/environments"))


def main() -> None:
    if os.geteuid() != 0:
        raise SystemExit("run it as root: emulated hosts are network namespaces")
    with tempfile.TemporaryDirectory(prefix="loadstone-") as folder, state(Path(folder)):
        found = measure(plan(), Path(folder))
    rows = [median_row(f"{name}: demand to ready", "s", seconds) for name, seconds in found.ready.items()]
    rows.append(median_row("a guest: memory of QEMU beyond what the guest uses", "MiB", found.overhead))
    rows.append(median_row("change of environment: removal to ready", "s", found.changes))
    label = f"all changes of a study of {len(ENVIRONMENTS)} x {ROUNDS} runs"
    rows.append(Row(label, "s", sum(found.changes)))
    report("environments", rows, [f"virtual machines ran with {found.accelerator}"])


def measure(plan: Plan, folder: Path) -> _Measured:
    """One block that does not count, then ``ROUNDS`` that do, each treatment once in a block."""
    found = _Measured()
    provider = Provider(infrastructure_of(plan.study.cluster, "bench-environments"), Listener())
    deployed: Deployed | None = None
    try:
        for number in range(ROUNDS + 1):
            for treatment in plan.treatments:
                began = time.monotonic()
                if deployed is not None:
                    deployed.remove()
                provider.release()
                demanded = time.monotonic()
                provision = provider.provide(treatment, plan.study.cluster)
                name = f"bench-{number}-{treatment.id[:6]}"
                deployed = Deployed(plan.deployable(treatment), provision, name, folder / name)
                deployed.start(Listener())
                ready = time.monotonic()
                if number > 0:
                    found.ready.setdefault(_level(treatment), []).append(ready - demanded)
                    found.changes.append(ready - began)
                    if _level(treatment) == "vm":
                        _add_overhead(found, provision)
    finally:
        if deployed is not None:
            deployed.remove()
        provider.release()
        provider.give_back()
    return found


def _level(treatment: Treatment) -> str:
    return str(treatment.settings.environment)


def _add_overhead(found: _Measured, provision: Provision) -> None:
    """Add, for each guest, what the host counts of its QEMU less what the guest does not have available."""
    for node in provision.nodes:
        if node.guest is None:
            continue
        found.accelerator = node.guest.accelerator
        used = this_machine().read(["usage"], {node.name: Subject(group=node.guest.group)})[node.name].usage
        inside = connect(node.name, node.reach).facts()
        if used is not None:
            found.overhead.append((used.memory - (inside.memory - inside.memory_available)) / 2**20)


if __name__ == "__main__":
    main()
