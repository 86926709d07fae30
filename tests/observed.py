"""What instruments leave of a trial, made up: ``observed.json``, ``metrics.parquet`` and ``spans.parquet``.

``rich`` is a machine that has everything: two nodes with four C-states and RAPL, and a client. ``poor`` is one machine
whose kernel three emulated nodes share, without C-states, power and quotas. Load makes everything grow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests import synthetic_spans
from tests.synthetic_files import SERVICES

Reading = tuple[str, str, str, float, float]
"""Node, subject, metric, its value at the first reading, and its growth per second (gauges: 0)."""
RICH = {"worker-1": [0, 1, 2, 3], "worker-2": [0, 1, 2, 3], "client": [0, 1, 2, 3]}
POOR = {"worker-1": [1, 2], "worker-2": [3], "client": [0]}
CSTATES = {"POLL": (0.01, 90.0), "C1": (0.30, 900.0), "C1E": (0.15, 300.0), "C6": (0.54, 120.0)}
"""Share of the idle time, and transitions per second and CPU."""
POWER = {"package-0": (28.0, 60.0), "package-0/core": (9.0, 48.0), "package-0/dram": (3.0, 6.0)}
"""Watts of an idle node, and what full load adds."""
MEMORY = {"free": 20e9, "buffers": 1e9, "cached": 4e9, "slab": 5e8, "page_tables": 1e8, "swap_cached": 1e7}
"""Parts of a node's 32 GB."""
REFERENCE_MS = {"worker-1": 3.5, "client": 6.0}
"""The time of the reference loop; 2.5 ms on other nodes."""
ABSENT = {"cstate": "no /sys/devices/system/cpu/cpu0/cpuidle", "power": "no /sys/class/powercap"}


def observe(run: Path, kind: str = "rich", spans: int = 0, capacity: float = 1250.0) -> None:
    """Add the files to every trial of a synthetic run; ``spans`` is the number of requests that are traced."""
    for place in sorted((run / "trials").iterdir()):
        row = json.loads((place / "trial.json").read_text())["row"]
        write(place, row, kind, spans, capacity)


def write(place: Path, row: dict[str, Any], kind: str, spans: int, capacity: float) -> None:
    """The files of one trial."""
    seconds = row["window_s"] or 2.0  # what was planned of a trial that was stopped early
    start = int(datetime.fromisoformat(row["started"]).timestamp() * 1e9)
    window = {"from_ns": start + 1_300_000_000, "to_ns": start + 1_300_000_000 + int(seconds * 1e9)}
    busy = min(row["rate"] / capacity, 1.05)
    readings = list(rich(busy) if kind == "rich" else poor(busy))
    pq.write_table(table(readings, start, seconds + 3.2), place / "metrics.parquet", compression="zstd")
    observed: dict[str, Any] = {
        "window": window,
        "nodes": nodes(kind),
        "replicas": {f"{s}-1": {"service": s, "tier": SERVICES[s][0], "node": where(s)} for s in SERVICES},
        "traces": counts(row, spans) if spans else None,
        "problems": [],
    }
    (place / "observed.json").write_text(json.dumps(observed))
    if spans:
        synthetic_spans.write(place / "spans.parquet", window["from_ns"], window["to_ns"], spans, busy)


def in_guests(run: Path, qemu: dict[str, tuple[float, float]]) -> None:
    """Make workers of an observed run guests, of whose QEMU a host counts so many cores and bytes."""
    for place in (run / "trials").iterdir():
        record = json.loads((place / "observed.json").read_text())
        record["nodes"]["host"] = {"recorded": True, "cpus": []}
        (place / "observed.json").write_text(json.dumps(record))
        row = json.loads((place / "trial.json").read_text())["row"]
        start = int(datetime.fromisoformat(row["started"]).timestamp() * 1e9)
        readings = [*kernel("host", [0, 1, 2, 3], 0.5)]
        for guest, (cores, memory) in qemu.items():
            readings.append(("host", f"replica:guest/{guest}", "container_cpu_seconds_total", 100.0, cores))
            readings.append(("host", f"replica:guest/{guest}", "container_memory_bytes", memory, 0.0))
        guests = pq.read_table(place / "metrics.parquet")
        both = pa.concat_tables([guests, table(readings, start, row["window_s"] + 3.2)])
        pq.write_table(both.unify_dictionaries(), place / "metrics.parquet")


def where(service: str) -> str:
    return "worker-2" if SERVICES[service][0] in ("caching", "storage") else "worker-1"


def nodes(kind: str) -> dict[str, Any]:
    if kind == "rich":
        client = {"role": "client", "recorded": True, "absent": {"power": "no /sys/class/powercap"}}
        return {name: {"role": "worker", "cpus": cpus, "recorded": True} for name, cpus in RICH.items()} | {
            "client": {"cpus": RICH["client"], **client}
        }
    shared = {"worker-1": {"absent": ABSENT, "shared_by": list(POOR), "recorded": True}}
    return {name: {"role": "worker", "cpus": c, "recorded": False, **shared.get(name, {})} for name, c in POOR.items()}


def counts(row: dict[str, Any], spans: int) -> dict[str, Any]:
    """Two traces in a thousand are missing, one request in a hundred thousand spans was dropped on the way."""
    requests = row["offered"] + 200
    made = requests * 21
    lost = requests // 500
    known = {"refused": 0, "unreadable": 0, "outside": 3, "quiet": True, "sample": 1.0, "requests": requests}
    came = {"received": made - 21 * lost, "written": made - 21 * lost, "traces": requests - lost}
    return {**came, "roots": requests - lost, "produced": made, "dropped": 21 * lost, **known}


def table(readings: list[Reading], start_ns: int, seconds: float, period_s: float = 1.0) -> pa.Table:
    """All readings from just after the trial began, every period."""
    times = start_ns + (np.arange(0, seconds, period_s) * 1e9).astype(np.int64) + 37_000_000
    since = (times - start_ns) / 1e9
    columns: dict[str, Any] = {"time_ns": np.tile(times, len(readings))}
    for place, name in enumerate(("node", "subject", "metric")):
        names = pa.array([reading[place] for reading in readings]).dictionary_encode()
        columns[name] = names.take(pa.array(np.repeat(np.arange(len(readings)), len(times))))
    columns["value"] = np.concatenate(
        [values(metric, first, growth, since) for _, _, metric, first, growth in readings]
    )
    return pa.table(columns)


def values(metric: str, first: float, growth: float, since: np.ndarray) -> np.ndarray:
    """Counters grow evenly, gauges by whole numbers."""
    return first + growth * (since if metric.endswith("_total") else np.floor(since))


def rich(busy: float) -> Iterator[Reading]:
    for node in ("worker-1", "worker-2", "client"):
        load = busy * {"worker-1": 0.7, "worker-2": 0.25, "client": 0.2}[node]
        yield from kernel(node, RICH[node], load)
        for cpu in RICH[node]:
            for state, (share, entered) in CSTATES.items():
                yield node, f"cpu:{cpu}/{state}", "cstate_seconds_total", 5e4, share * (1 - min(load, 0.98))
                yield node, f"cpu:{cpu}/{state}", "cstate_transitions_total", 1e6, entered * (0.4 + busy)
        if node != "client":
            for domain, (base, more) in POWER.items():
                yield node, f"power:{domain}", "energy_joules_total", 3e5, base + more * load
    yield from containers({s: where(s) for s in SERVICES}, busy, quotas=True)


def poor(busy: float) -> Iterator[Reading]:
    yield from kernel("worker-1", [0, 1, 2, 3], 0.6 * busy)
    yield from switch("worker-1", busy)
    yield from containers(dict.fromkeys(SERVICES, "worker-1"), busy, quotas=False)


def switch(recorder: str, busy: float) -> Iterator[Reading]:
    """What two emulated workers sent each other, and what the client sent and was answered."""
    ports = {"uplink": (1e6, 2e6), "worker-1": (10e6, 6e6), "worker-2": (5e6, 8e6)}
    for port, (received, sent) in ports.items():
        yield recorder, f"network:switch/{port}", "network_received_bytes_total", 1e9, received * busy
        yield recorder, f"network:switch/{port}", "network_transmitted_bytes_total", 1e9, sent * busy


def kernel(node: str, cpus: list[int], load: float) -> Iterator[Reading]:
    """Counters of a node and of its CPUs; the first is the busiest."""
    modes = {"user": 0.62, "system": 0.3, "softirq": 0.06, "irq": 0.02, "nice": 0.0}
    for mode, share in modes.items():
        yield node, "node", f"cpu_{mode}_seconds_total", 900.0, share * load * len(cpus)
    yield node, "node", "cpu_iowait_seconds_total", 90.0, 0.02
    yield node, "node", "cpu_steal_seconds_total", 9.0, 0.0
    yield node, "node", "cpu_idle_seconds_total", 1e5, len(cpus) * (1 - load)
    for place, cpu in enumerate(cpus):
        mine = load * (1.3 - 0.2 * place)
        for mode, share in modes.items():
            yield node, f"cpu:{cpu}", f"cpu_{mode}_seconds_total", 300.0, share * mine
        for mode in ("iowait", "steal"):
            yield node, f"cpu:{cpu}", f"cpu_{mode}_seconds_total", 3.0, 0.005
        yield node, f"cpu:{cpu}", "frequency_hertz", 2.2e9, 0.0
    yield node, "node", "reference_seconds_total", 1.0, 0.4 * REFERENCE_MS.get(node, 2.5) / 1000
    yield node, "node", "reference_loops_total", 400.0, 0.4
    yield node, "node", "memory_total_bytes", 32e9, 0.0
    yield node, "node", "memory_available_bytes", 26e9 - 2e9 * load, 0.0
    yield node, "node", "memory_user_bytes", 3e9, 0.0
    for part, size in MEMORY.items():
        yield node, "node", f"memory_{part}_bytes", size, 0.0
    yield node, "node", "context_switches_total", 1e9, 2000 + 60_000 * load
    yield node, "node", "interrupts_total", 1e9, 1500 + 25_000 * load
    yield node, "node", "clock_offset_seconds", 2.5e-5, 0.0
    yield node, "node", "clock_error_seconds", 6e-5, 1e-7
    yield node, "interface:eth0", "network_received_bytes_total", 1e9, 2e4 + 9e6 * load
    yield node, "interface:eth0", "network_transmitted_bytes_total", 1e9, 2e4 + 7e6 * load
    yield node, "interface:veth12", "network_received_bytes_total", 1e6, 5e6
    yield node, "disk:sda", "disk_read_bytes_total", 1e9, 0.0
    yield node, "disk:sda", "disk_written_bytes_total", 1e9, 4e5 * load
    yield node, "disk:sda1", "disk_written_bytes_total", 1e9, 4e5 * load


def containers(places: dict[str, str], busy: float, quotas: bool) -> Iterator[Reading]:
    """Counters of a replica of each service; the third has the tightest quota."""
    for place, (service, node) in enumerate(places.items()):
        cores = 3 * SERVICES[service][1] * busy
        subject = f"replica:{service}-1"
        yield node, subject, "container_cpu_seconds_total", 40.0, cores
        if quotas:
            held = max(0.0, busy - 0.55) * (0.9 if service == "search" else 0.1 * (place % 3))
            yield node, subject, "container_periods_total", 500.0, 10.0
            yield node, subject, "container_throttled_periods_total", 0.0, 10.0 * min(held, 1.0)
            yield node, subject, "container_throttled_seconds_total", 0.0, 0.4 * held
        yield node, subject, "container_memory_bytes", 4e7 + 2e7 * place, 0.0
        yield node, subject, "container_processes", 1.0, 0.0
        yield node, subject, "container_threads", 8.0 + 2 * place, float(place % 2)
        yield node, subject, "container_block_read_bytes_total", 1e6, 0.0
        yield node, subject, "container_block_written_bytes_total", 1e6, 2e5 * busy
        yield node, subject, "container_network_received_bytes_total", 1e6, 3e5 * busy
        yield node, subject, "container_network_transmitted_bytes_total", 1e6, 4e5 * busy
