"""C-states and power: what the processors did when they did nothing, and what everything cost."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadstone.analysis.known import total
from loadstone.analysis.metrics.nodes import MetricRow, title, under_test
from loadstone.analysis.metrics.windows import WindowValues
from loadstone.analysis.schema import TableRow
from loadstone.model.records.observed import Observed

ACTIVE = "C0"
"""The rest: the kernel counts the time in idle states only."""


class CstateUse(TableRow):
    """A node and state: the share of all its CPUs' time that was spent there, and how often a second it was entered.

    ``C0`` is the rest of the time and has no transitions of its own. None where a CPU's counter has no value.
    """

    node: str
    replicas: bool
    state: str
    cpus: int
    share: float | None
    transitions_per_s: float | None


class CstateRow(CstateUse, MetricRow, name="metrics_cstates"):
    """A node and state in one trial."""


class PowerUse(TableRow):
    """A node and domain: energy over the window, J, and mean power, W."""

    node: str
    replicas: bool
    domain: str
    kind: str
    joules: float | None
    watts: float | None


class PowerRow(PowerUse, MetricRow, name="metrics_power"):
    """A node and domain in one trial."""


class EnergyUse(TableRow):
    """All nodes with replicas together: power of packages and memory, W, and their energy per completed request, J.

    Cores are part of a package and are not added again.
    """

    nodes: int
    package_watts: float | None
    core_watts: float | None
    dram_watts: float | None
    watts: float | None
    joules_per_request: float | None


class EnergyRow(EnergyUse, MetricRow, name="metrics_energy"):
    """Power and energy of one trial."""


def cstates(observed: Observed, measured: WindowValues) -> list[CstateUse]:
    """By node and state."""
    rows: list[CstateUse] = []
    for node in _recorded(observed):
        by_state: dict[str, dict[str, tuple[float | None, float | None]]] = {}
        for subject, value in measured.subjects(node, "cpu:", "cstate_seconds_total"):
            cpu, _, state = subject.partition("/")
            entered = measured.get(node, f"cpu:{subject}", "cstate_transitions_total").change
            by_state.setdefault(state, {})[cpu] = (value.change, entered)
        every = len(set().union(*by_state.values()))
        found: list[tuple[str, int, float | None, float | None]] = []
        for state in sorted(by_state, key=_depth):
            cpus = by_state[state].values()
            spent, entered = (total(counted[i] for counted in cpus) for i in (0, 1))
            share = None if spent is None else spent / (every * measured.seconds)
            found.append((state, len(cpus), share, None if entered is None else entered / measured.seconds))
        if found:
            idle = total(share for _, _, share, _ in found)
            found.append((ACTIVE, every, None if idle is None else max(0.0, 1 - idle), None))
        name, replicas = title(observed, node), under_test(observed, node)
        rows += [
            CstateUse(node=name, replicas=replicas, state=state, cpus=count, share=share, transitions_per_s=per_s)
            for state, count, share, per_s in found
        ]
    return rows


def power(observed: Observed, measured: WindowValues) -> list[PowerUse]:
    """By node and domain."""
    return [
        PowerUse(
            node=title(observed, node),
            replicas=under_test(observed, node),
            domain=domain,
            kind=kind(domain),
            joules=value.change,
            watts=None if value.change is None else value.change / measured.seconds,
        )
        for node in _recorded(observed)
        for domain, value in measured.subjects(node, "power:", "energy_joules_total")
    ]


def kind(domain: str) -> str:
    """``package`` of ``package-0``, ``dram`` of ``package-0/dram``."""
    return re.sub(r"-\d+$", "", domain.rpartition("/")[2])


def energy(rows: Iterable[PowerUse], throughput: float | None, observed: Observed) -> EnergyUse | None:
    """The power and energy of all nodes with replicas; None where any of them has no such counter."""
    tested = [row for row in rows if row.replicas]
    package, core, dram = (total(row.watts for row in tested if row.kind == k) for k in ("package", "core", "dram"))
    counted = {row.node for row in tested if row.kind == "package"}
    known = [{name, *node.shared_by} for name, node in observed.nodes.items() if title(observed, name) in counted]
    if not counted or not {replica.node for replica in observed.replicas.values()} <= set().union(*known):
        return None
    watts = total([package, dram] if any(row.kind == "dram" for row in tested) else [package])
    return EnergyUse(
        nodes=len(counted),
        package_watts=package,
        core_watts=core,
        dram_watts=dram,
        watts=watts,
        joules_per_request=watts / throughput if watts is not None and throughput else None,
    )


def _recorded(observed: Observed) -> list[str]:
    return [name for name, node in observed.nodes.items() if node.recorded]


def _depth(state: str) -> tuple[bool, int, str]:
    """POLL, which is hardly asleep, first; then by number: C1, C1E, C3, C6, C10."""
    number = re.match(r"[A-Za-z]*?(\d+)", state)
    return state != "POLL", int(number[1]) if number else 0, state
