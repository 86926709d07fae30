"""How fast the machines of a trial were: what a hypervisor gave to others, and how long the same computation took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loadstone.analysis.metrics.nodes import nodes
from loadstone.analysis.metrics.windows import measure, read
from loadstone.model.records.observed import Observed


@dataclass(frozen=True)
class MachineState:
    """In the window of a trial, or until it was stopped. None is what no counter was recorded of."""

    steal_share: float | None
    """The share of processor time that a hypervisor gave to others, on the node that lost most."""
    reference_ms: float | None
    """The processor time of the reference loop on the slowest node that ran replicas."""


NOT_RECORDED = MachineState(None, None)


def machine_state(folder: Path, observed: Observed, stopped_s: float | None = None) -> MachineState:
    """The state of the nodes in the window, for a trial that was stopped in the ``stopped_s`` seconds until then.

    ``folder``: the trial's.
    """
    recording, _ = read(folder / "metrics.parquet")
    window = observed.window
    if recording is None or window is None:
        return NOT_RECORDED
    to_ns = window.to_ns if stopped_s is None else window.from_ns + round(1e9 * stopped_s)
    found = nodes(observed, measure(recording, window.from_ns, to_ns))
    shares = [row.cpu_steal_cores / row.cpus for row in found if row.cpu_steal_cores is not None and row.cpus]
    times = [row.reference_ms for row in found if row.replicas and row.reference_ms is not None]
    return MachineState(max(shares, default=None), max(times, default=None))
