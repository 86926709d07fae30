"""The processor time that a hypervisor gave to others than the nodes of a trial."""

from __future__ import annotations

from pathlib import Path

from loadstone.analysis.metrics.nodes import nodes
from loadstone.analysis.metrics.windows import measure, read
from loadstone.model.records.observed import Observed


def stolen(folder: Path, observed: Observed, stopped_s: float | None = None) -> float | None:
    """The share of processor time that was stolen in the window on the node that lost most. ``folder``: the trial's.

    For a trial that broke and was stopped, in the ``stopped_s`` seconds until then. None where counters were not
    recorded.
    """
    recording, _ = read(folder / "metrics.parquet")
    window = observed.window
    if recording is None or window is None:
        return None
    to_ns = window.to_ns if stopped_s is None else window.from_ns + round(1e9 * stopped_s)
    found = nodes(observed, measure(recording, window.from_ns, to_ns))
    shares = [row.cpu_steal_cores / row.cpus for row in found if row.cpu_steal_cores is not None and row.cpus]
    return max(shares, default=None)
