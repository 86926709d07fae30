"""What the machines of hosts are, for the provenance of a run; and where those of one cluster differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import connect, in_parallel
from loadstone.model.cluster import Node
from loadstone.model.errors import LoadstoneError

Hardware = dict[str, str]
"""Parts of a machine: ``processor``, ``cores``, ``kernel``, ``firmware``, ``microcode``, ``nics``, ``disks``."""


def of_hosts(nodes: Sequence[Node]) -> dict[str, Hardware]:
    """By node, for those with machines of their own. Machines that do not answer are left out: others report them."""
    hosts = [node for node in nodes if node.reach.by_login]
    found = zip(hosts, in_parallel(_hardware, hosts), strict=True)
    return {node.name: hardware for node, hardware in found if hardware}


def _hardware(node: Node) -> Hardware:
    try:
        facts = connect(node.name, node.reach).facts()
    except LoadstoneError:
        return {}
    # What the kernel reserves differs by some MiB between equal machines.
    own = {"system": facts.os, "kernel": facts.kernel, "processor": facts.cpu_model, "product": facts.product}
    return {**own, "cores": str(len(facts.cpus)), "memory": f"{round(facts.memory / 2**30)} GiB", **facts.hardware}


def differences(nodes: Sequence[Node], found: Mapping[str, Hardware]) -> list[Finding]:
    """A warning for each part that differs between machines of the same role."""
    findings = []
    for role in ("manager", "worker", "client"):
        names = [node.name for node in nodes if node.role == role and node.name in found]
        for part in dict.fromkeys(part for name in names for part in found[name]):
            by_value: dict[str, list[str]] = {}
            for name in names:
                by_value.setdefault(found[name].get(part) or "unknown", []).append(name)
            if len(by_value) > 1:
                values = "; ".join(f"{value}: {', '.join(having)}" for value, having in by_value.items())
                message = f"machines of role {role} differ in {part}: {values}"
                remedy = "use equal machines, or keep placements the same where treatments are compared"
                findings.append(Finding("machines", "warning", message, remedy))
    return findings
