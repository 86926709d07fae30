"""The fifth study's values of whole hosts: one a minute of the measured window, then mean and deviation of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from statistics import fmean, stdev
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from loadstone.analysis.known import all_known
from loadstone.analysis.metrics import nodes
from loadstone.analysis.metrics.nodes import MetricRow
from loadstone.analysis.metrics.windows import WindowValues, measure
from loadstone.analysis.schema import TableRow
from loadstone.model.records.observed import MeasuredWindow, Observed

_MINUTE_NS = 60_000_000_000


class MinuteUse(TableRow):
    """A recorded machine in one minute of the measured window; of a shorter window there is one row, of all of it.

    ``services`` are those with replicas on it; all else as in ``NodeUse``.
    """

    node: str
    services: tuple[str, ...]
    minute: int
    seconds: float
    memory_programs_bytes: float | None
    memory_occupied_bytes: float | None
    cpu_system_cores: float | None
    cpu_user_cores: float | None
    cpu_iowait_cores: float | None
    network_received_bytes_per_s: float | None
    network_transmitted_bytes_per_s: float | None
    context_switches_per_s: float | None
    interrupts_per_s: float | None


class MinuteRow(MinuteUse, MetricRow, name="metrics_minutes"):
    """Its row in the table of all trials."""


class SystemRow(TableRow, name="system"):
    """A machine under a treatment at one load: mean and standard deviation of its ``values``, one a minute.

    CPU in percent of one core.
    """

    treatment: str
    rate: float
    clients: int | None
    node: str
    services: tuple[str, ...]
    trials: int
    values: int
    seconds: float
    memory_programs_bytes: float | None
    memory_programs_bytes_sd: float | None
    memory_occupied_bytes: float | None
    memory_occupied_bytes_sd: float | None
    cpu_system_percent: float | None
    cpu_system_percent_sd: float | None
    cpu_user_percent: float | None
    cpu_user_percent_sd: float | None
    cpu_iowait_percent: float | None
    cpu_iowait_percent_sd: float | None
    network_received_bytes_per_s: float | None
    network_received_bytes_per_s_sd: float | None
    network_transmitted_bytes_per_s: float | None
    network_transmitted_bytes_per_s_sd: float | None
    context_switches_per_s: float | None
    context_switches_per_s_sd: float | None
    interrupts_per_s: float | None
    interrupts_per_s_sd: float | None


_PLACE = ("services", "minute", "seconds")
_VALUES = tuple(field.name for field in fields(MinuteUse) if field.name not in _PLACE)


def minutes(
    observed: Observed, recording: pa.Table, window: MeasuredWindow, whole: WindowValues
) -> Iterator[MinuteUse]:
    """By minute and machine; a rest below a minute is left out. ``whole``: the values of the whole window."""
    count = (window.to_ns - window.from_ns) // _MINUTE_NS
    if count < 1:
        yield from _machines(observed, whole, 1)
        return
    subject = recording["subject"].cast(pa.string())
    of_nodes = recording.filter(pc.or_(pc.equal(subject, "node"), pc.starts_with(subject, "interface:")))
    for place in range(count):
        begin = window.from_ns + place * _MINUTE_NS
        yield from _machines(observed, measure(of_nodes, begin, begin + _MINUTE_NS), place + 1)


def _machines(observed: Observed, measured: WindowValues, minute: int) -> Iterator[MinuteUse]:
    services: dict[str, tuple[str, ...]] = {}
    for name, node in observed.nodes.items():
        here = {name, *node.shared_by}
        on = sorted({replica.service for replica in observed.replicas.values() if replica.node in here})
        services[nodes.title(observed, name)] = tuple(on)
    for row in nodes.nodes(observed, measured):
        if row.readings is not None:  # a machine, not the processors of one of the nodes that share it
            values = {name: getattr(row, name) for name in _VALUES}
            yield MinuteUse(services=services[row.node], minute=minute, seconds=measured.seconds, **values)


_PERCENT = {f"cpu_{mode}_percent": f"cpu_{mode}_cores" for mode in ("system", "user", "iowait")}


def system(rows: Iterable[MinuteRow]) -> list[SystemRow]:
    """One row a machine with replicas, treatment and fixed load, over the minutes of all valid trials to the end."""
    groups: dict[tuple[str, float, int | None, str], list[MinuteRow]] = {}
    for row in rows:
        if row.services and row.verdict != "invalid" and row.phase in ("fixed", "closed"):
            groups.setdefault((row.treatment, row.rate, row.clients, row.node), []).append(row)
    return [_system(place, some) for place, some in groups.items()]


def _system(place: tuple[str, float, int | None, str], rows: list[MinuteRow]) -> SystemRow:
    found: dict[str, Any] = {}
    for field in fields(SystemRow):
        if f"{field.name}_sd" in SystemRow.__dataclass_fields__:
            scale, column = (100, _PERCENT[field.name]) if field.name in _PERCENT else (1, field.name)
            values = [scale * value for value in all_known(getattr(row, column) for row in rows)]
            found[field.name] = fmean(values) if values else None
            found[f"{field.name}_sd"] = stdev(values) if len(values) > 1 else None
    treatment, rate, clients, node = place
    return SystemRow(
        treatment=treatment,
        rate=rate,
        clients=clients,
        node=node,
        services=rows[0].services,
        trials=len({row.trial_id for row in rows}),
        values=len(rows),
        seconds=rows[0].seconds,
        **found,
    )
