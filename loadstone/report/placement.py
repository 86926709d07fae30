"""The part about placements: which is best and which worst, and what each cost and did."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analysis import metrics, schema
from loadstone.analysis.metrics.power import EnergyRow
from loadstone.analysis.placement import FACTOR, Extremes, Fastest, TierTraffic, extremes, tables, tier_traffic
from loadstone.analysis.placement.tables import (
    PlacementCapacity,
    PlacementCstate,
    PlacementLoad,
    PlacementNetwork,
)
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import placement as figures
from loadstone.report.figures.kinds import Kind
from loadstone.report.section import Section

KINDS = (
    Kind(
        "placement-latency",
        figures.latency,
        "Latency of each placement",
        "Mean and P99 from the intended send time, geometric means over the trials of a load; a line is the 95 % "
        "interval{drawn}.",
        "placement_loads",
        wide=True,
    ),
    Kind(
        "placement-executed",
        figures.executed,
        "Executed and dropped",
        "Requests completed a second (filled), and on them those that were scheduled and not answered well and in time "
        "(hollow); means over the trials of a load{drawn}.",
        "placement_loads",
        wide=True,
    ),
    Kind(
        "placement-close",
        figures.close,
        "Executed and dropped, close up",
        "The same, up to the highest load at which some placement dropped at most 1 %{drawn}.",
        "placement_loads",
        wide=True,
    ),
    Kind(
        "placement-capacity",
        figures.capacity,
        "Capacity of each placement",
        "The load at which 95 of 100 trials hold the SLO, with its 95 % interval.",
        "placement_capacity",
    ),
    Kind(
        "placement-cstates",
        figures.cstates,
        "C-states of each placement",
        "Share of all CPUs' time in each state, mean over the nodes that run replicas and over trials{drawn}.",
        "placement_cstates",
        wide=True,
    ),
    Kind(
        "placement-transitions",
        figures.transitions,
        "C-state transitions of each placement",
        "How often a second each idle state was entered: sum over a node's CPUs, mean over the nodes that run replicas "
        "and over trials{drawn}.",
        "placement_cstates",
        wide=True,
    ),
    Kind(
        "placement-power",
        figures.power,
        "Power of each placement",
        "Packages and memory, sum over the nodes that run replicas, mean over trials{drawn}.",
        "placement_loads",
        wide=True,
    ),
    Kind(
        "placement-between",
        figures.between,
        "Bytes between nodes",
        "What workers sent each other for each completed request, headers included, mean over trials{drawn}.",
        "placement_loads",
        wide=True,
    ),
)


def gather(content: Content) -> Section | None:
    """The section of a run that varies placement; None for any other."""
    if not any(FACTOR in treatment.levels for treatment in content.treatments):
        return None
    observed = content.tables if EnergyRow.NAME in content.tables else metrics.gather(content.run).tables
    found = tables(content.treatments, observed)
    if not found:
        return None
    loads, capacities, traffic = found.loads, found.capacities, tier_traffic(content.treatments, observed)
    interleaved = content.run.study.trial.order == "interleaved"
    sides = list(extremes(content.treatments, loads, capacities, interleaved))
    shown = figures.drawn(loads)
    every = len({row.placement for row in loads})
    some = f"; the {len(shown)} fastest and slowest of {every} placements" if len(shown) < every else ""
    return Section(
        name="placement",
        title="Placement",
        tables=schema.tables(
            (PlacementLoad, found.loads),
            (PlacementCstate, found.cstates),
            (PlacementNetwork, found.network),
            (PlacementCapacity, found.capacities),
            (TierTraffic, traffic),
        ),
        kinds=[kind for kind in KINDS if kind.name != "placement-capacity" or capacities],
        shown=_shown(content, loads, capacities, sides) | {"traffic": _traffic(traffic)},
        answers=[_sentence(side, content.closed) for side in sides],
        cautions=list(_cautions(content)),
        facts={"drawn": some},
    )


def _shown(
    content: Content,
    loads: list[PlacementLoad],
    capacities: list[PlacementCapacity],
    sides: list[Fastest | Extremes],
) -> dict[str, object]:
    at = []
    for fastest in (side for side in sides if isinstance(side, Fastest)):
        rows = [row for row in loads if (row.others, row.load) == (fastest.others, fastest.load)]
        for row in sorted(rows, key=lambda row: row.p99_ms or 0.0):
            worst = "worst" if row.placement == fastest.worst.placement else ""
            at.append((row, worst or ("best" if row.placement == fastest.best.placement else "")))
    return {
        "at": at,
        "loads": loads,
        "capacities": sorted(capacities, key=lambda row: -(row.capacity or 0.0)),
        "others": any(row.others for row in loads) or any(row.others for row in capacities),
        "has": {name for name in _OPTIONAL if any(getattr(row, name) is not None for row in loads)},
        "load": "Clients" if content.closed else "Offered<br>req/s",
    }


def _traffic(rows: list[TierTraffic]) -> list[tuple[str, list[float], list[float], list[tuple[str, list[float]]]]]:
    """By levels of other factors: the loads, the deviation at each, and each pair of tiers with its bytes at each."""
    found = []
    for others in dict.fromkeys(row.others for row in rows):
        mine = [row for row in rows if row.others == others]
        deviations = {row.load: row.deviation for row in mine}
        pairs: dict[str, list[float]] = {}
        for row in mine:
            pairs.setdefault(f"{row.first} – {row.second}", []).append(row.bytes_per_request)
        found.append((others, list(deviations), list(deviations.values()), list(pairs.items())))
    return found


_OPTIONAL = ("c0_share", "transitions_per_s", "package_watts", "dram_watts", "between_bytes_per_request")


def _sentence(side: Fastest | Extremes, closed: bool) -> str:
    where = f"With {side.others}, " if side.others else ""
    if isinstance(side, Extremes):
        return where + _by_capacity(side)
    at = f"{format.clients(side.load) if closed else format.rate(side.load)}"
    begun = f"{where}at {at}" if where else f"At {at}"
    best, worst = _p99(side.best), _p99(side.worst)
    finding = (
        f"{begun} **{side.best.placement}** answered fastest of {side.placements} placements, P99 {best}, and "
        f"**{side.worst.placement}** slowest, {worst}"
    )
    if side.ratio is None or side.low is None:
        return f"{finding}; a single trial of each cannot show whether they differ."
    ratio = f"{format.number(side.ratio)}x {format.interval(side.low, side.high)}"
    if side.differ:
        return f"{finding}: {ratio} as long."
    return f"{finding}; these trials show no difference ({ratio} as long)."


def _by_capacity(side: Extremes) -> str:
    best, worst = (
        f"{format.rate(row.capacity)} {format.interval(row.capacity_low, row.capacity_high)}"
        for row in (side.best, side.worst)
    )
    end = "." if side.differ else "; their intervals overlap, so no difference is shown."
    finding = (
        f"**{side.best.placement}** has the highest capacity of {side.placements} placements, {best}, and "
        f"**{side.worst.placement}** the lowest, {worst}{end}"
    )
    return f"{finding} The capacity of {side.unknown} more is not known." if side.unknown else finding


def _p99(row: PlacementLoad) -> str:
    value = format.milliseconds(row.p99_ms)
    return value if row.p99_ms_low is None else f"{value} {format.interval(row.p99_ms_low, row.p99_ms_high)}"


def _cautions(content: Content) -> Iterator[str]:
    if content.run.emulated:
        yield (
            "Placements were compared on emulated hosts, which share one machine's cores: they differ by the network "
            "and by what replicas on a node share there, and not by how many cores a tier has to itself."
        )
