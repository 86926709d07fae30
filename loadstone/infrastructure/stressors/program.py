"""``stress-ng``: its command line, what it reports at its end, and what machines lack for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import yaml

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import Machine, in_parallel
from loadstone.model.errors import LoadstoneError
from loadstone.model.interference import Stressor

PROGRAM = "stress-ng"
_BYTES = 256 * 2**20
"""That each worker of ``vm`` maps, and of ``hdd`` writes to a file."""
_OF_LIMIT = 0.75
"""The share of a memory limit that all workers of ``vm`` map together."""


class Operations(NamedTuple):
    """Bogo operations of a stressor's whole life."""

    number: int
    per_s: float


def arguments(stressor: Stressor, folder: str, report: str) -> tuple[str, ...]:
    """The command line of ``stress-ng``, files in ``folder`` and metrics to ``report``; it runs until interrupted."""
    kind, workers = stressor.stressor, stressor.workers
    argv = [PROGRAM, f"--{kind}", str(workers)]
    if stressor.load is not None:
        argv += ["--cpu-load", f"{100 * stressor.load:.0f}"]
    if kind == "vm":
        most = stressor.limits.memory
        argv += ["--vm-bytes", str(_BYTES if most is None else min(_BYTES, int(_OF_LIMIT * most / workers)))]
    if kind == "hdd":
        argv += ["--hdd-bytes", str(_BYTES)]
    return (*argv, "--timeout", "0", "--temp-path", folder, "--metrics", "--yaml", report)


def operations(report: bytes) -> Operations | None:
    """What a report says of the one kind of stressor that ran; None where it is not whole."""
    try:
        [metrics] = yaml.safe_load(report)["metrics"]
        return Operations(int(metrics["bogo-ops"]), float(metrics["bogo-ops-per-second-real-time"]))
    except (yaml.YAMLError, KeyError, TypeError, ValueError):
        return None


def findings(machines: Sequence[Machine]) -> list[Finding]:
    """What machines lack for stressors."""
    return [finding for found in in_parallel(_of_machine, machines) for finding in found]


def _of_machine(machine: Machine) -> list[Finding]:
    try:
        facts = machine.facts([PROGRAM])
    except LoadstoneError as error:
        return [Finding("interference", "error", str(error))]
    found = []
    if PROGRAM not in facts.tools:
        remedy = f"sudo apt-get install -y {PROGRAM} on {machine.name}"
        found.append(Finding("interference", "error", f"{machine.name}: {PROGRAM} is not installed", remedy))
    if facts.unlimited_because:
        message = f"{machine.name}: a stressor can have no control group of its own: {facts.unlimited_because}"
        found.append(Finding("interference", "error", message, "log in there as root, or leave interference out"))
    return found
