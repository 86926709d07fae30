"""C-states and power: what the processors did when they did nothing, and what everything cost."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

from loadstone.analysis.metrics.nodes import title, under_test
from loadstone.analysis.metrics.windows import WindowValues, total
from loadstone.analysis.summary import Row
from loadstone.model.records import Observed

ACTIVE = "C0"
"""The rest: the kernel counts the time in idle states only."""


def cstates(observed: Observed, measured: WindowValues) -> list[Row]:
    """By node and state: the share of all its CPUs' time that was spent there, and how often a second it was entered.

    ``C0`` is the rest of the time and has no transitions of its own. Null where a CPU's counter has no value.
    """
    rows: list[Row] = []
    for node in _recorded(observed):
        by_state: dict[str, dict[str, tuple[float | None, float | None]]] = {}
        for subject, value in measured.subjects(node, "cpu:", "cstate_seconds_total"):
            cpu, _, state = subject.partition("/")
            entered = measured.get(node, f"cpu:{subject}", "cstate_transitions_total").change
            by_state.setdefault(state, {})[cpu] = (value.change, entered)
        place = {"node": title(observed, node), "replicas": under_test(observed, node)}
        shares = []
        for state in sorted(by_state, key=_depth):
            cpus = by_state[state].values()
            spent, entered = (total(counted[i] for counted in cpus) for i in (0, 1))
            shares.append(None if spent is None else spent / (len(cpus) * measured.seconds))
            per_s = None if entered is None else entered / measured.seconds
            rows.append({**place, "state": state, "cpus": len(cpus), "share": shares[-1], "transitions_per_s": per_s})
        if shares:
            idle = total(shares)
            rest = None if idle is None else max(0.0, 1 - idle)
            cpus_all = max(len(cpus) for cpus in by_state.values())
            rows.append({**place, "state": ACTIVE, "cpus": cpus_all, "share": rest, "transitions_per_s": None})
    return rows


def power(observed: Observed, measured: WindowValues) -> list[Row]:
    """By node and domain: energy over the window, J, and mean power, W."""
    return [
        {
            "node": title(observed, node),
            "replicas": under_test(observed, node),
            "domain": domain,
            "kind": kind(domain),
            "joules": value.change,
            "watts": None if value.change is None else value.change / measured.seconds,
        }
        for node in _recorded(observed)
        for domain, value in measured.subjects(node, "power:", "energy_joules_total")
    ]


def kind(domain: str) -> str:
    """``package`` of ``package-0``, ``dram`` of ``package-0/dram``."""
    return re.sub(r"-\d+$", "", domain.rpartition("/")[2])


def energy(rows: Iterable[Row], throughput: float | None) -> Row | None:
    """All nodes with replicas together: power of packages and memory, W, and their energy per completed request, J.

    Cores are part of a package and are not added again. None without any such counter.
    """
    tested = [row for row in rows if row["replicas"]]
    of = {k: total(row["watts"] for row in tested if row["kind"] == k) for k in ("package", "core", "dram")}
    nodes = len({row["node"] for row in tested if row["kind"] == "package"})
    if not nodes:
        return None
    added = [of["package"]] + [of["dram"]] * any(row["kind"] == "dram" for row in tested)
    watts = total(added)
    per_request = watts / throughput if watts is not None and throughput else None
    parts = {f"{name}_watts": value for name, value in of.items()}
    return {"nodes": nodes, **parts, "watts": watts, "joules_per_request": per_request}


def _recorded(observed: Observed) -> list[str]:
    return [name for name, node in observed.nodes.items() if node.recorded]


def _depth(state: str) -> tuple[bool, int, str]:
    """POLL, which is hardly asleep, first; then by number: C1, C1E, C3, C6, C10."""
    number = re.match(r"[A-Za-z]*?(\d+)", state)
    return state != "POLL", int(number[1]) if number else 0, state


_PLACE: list[tuple[str, pa.DataType]] = [("node", pa.string()), ("replicas", pa.bool_())]
CSTATES: list[tuple[str, pa.DataType]] = [
    *_PLACE,
    ("state", pa.string()),
    ("cpus", pa.int64()),
    *((name, pa.float64()) for name in ("share", "transitions_per_s")),
]
POWER: list[tuple[str, pa.DataType]] = [
    *_PLACE,
    *((name, pa.string()) for name in ("domain", "kind")),
    *((name, pa.float64()) for name in ("joules", "watts")),
]
ENERGY: list[tuple[str, pa.DataType]] = [
    ("nodes", pa.int64()),
    *((f"{name}_watts", pa.float64()) for name in ("package", "core", "dram")),
    *((name, pa.float64()) for name in ("watts", "joules_per_request")),
]
