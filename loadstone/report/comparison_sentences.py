"""A comparison in sentences, for the report and the terminal. ``**`` marks bold text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from loadstone.analysis.comparison import Compared
from loadstone.analysis.comparison.calibration import limits
from loadstone.analysis.comparison.measured import ALL
from loadstone.analysis.comparison.tables import CapacityRow, EffectRow
from loadstone.analysis.grouping import grouped
from loadstone.model.base import plural
from loadstone.report import format


class LoadedRow(Protocol):
    """A row that has the load of what is compared."""

    @property
    def load(self) -> float:
        """Requests/s."""

    @property
    def clients(self) -> int | None:
        """Clients of a closed loop; None at a rate."""


_Effect = TypeVar("_Effect", bound=EffectRow)
MOST = 6
"""The most sentences about treatments; more are summarised, as tables and figures have them."""
_DIRECTIONS = {"slower": "longer", "faster": "shorter"}


def change(ratio: float | None) -> str:
    """``+5.1 %`` for a ratio of 1.051."""
    if ratio is None:
        return format.NOTHING
    percent = 100 * (ratio - 1)
    return f"{percent:+.1f} %" if abs(percent) < 100 else f"{ratio:.2f}x"


def interval(row: EffectRow) -> str:
    """``[+4.2, +6.0]``, in percent or as ratios, as ``change``."""
    low, high = row.low, row.high
    if not (low > 0 and high < float("inf")):
        return ""
    if abs(row.ratio - 1) >= 1:
        return f"[{low:.2f}, {high:.2f}]"
    return f"[{100 * (low - 1):+.1f}, {100 * (high - 1):+.1f}]"


def p(value: float | None) -> str:
    """``p = 0.002``."""
    if value is None:
        return "too few to test"
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def verdict(row: EffectRow) -> str:
    """``slower``, ``equal within 2 %``, or ``cannot tell; about 12 more pairs would``."""
    if row.verdict == "equal":
        return f"equal within {format.percent(row.margin)}"
    if row.verdict != "cannot tell":
        return str(row.verdict)
    return f"cannot tell; {_more(row)}" if row.needed else "cannot tell"


def load(row: LoadedRow) -> str:
    """``150 req/s``, ``20 clients``, or the pace of a replayed trace."""
    if row.clients is not None:
        return format.clients(row.clients)
    return format.rate(row.load) if row.load else "the trace's own pace"


def sentences(compared: Compared) -> list[str]:
    """The findings, breaking points first."""
    found = [capacity(row) for row in compared.capacities[:MOST]]
    groups = grouped(_of_all(compared.effects), lambda row: (row.treatment, row.load))
    if len(groups) > MOST:
        differ = sum(any(row.verdict in _DIRECTIONS for row in rows) for rows in groups.values())
        found.append(f"**{differ} of {len(groups)}** comparisons with {compared.baseline} show a difference.")
    else:
        found += [_treatment(rows) for rows in groups.values()]
    found += list(_noise(compared))
    return found + list(_calibration(compared))


def capacity(row: CapacityRow) -> str:
    """``Half of the trials hold at **2,310 req/s** [...] with **nomad**, at 1,480 [...] with swarm: **1.56x**.``"""
    before = f"{format.rate(row.a)} {format.interval(row.a_low, row.a_high)}"
    ratio = f"**{format.times(row.ratio)}x** [{format.times(row.low)}, {format.times(row.high)}]"
    ends = {"equal": f", equal within {format.percent(row.margin)}", "cannot tell": ": cannot tell which is higher"}
    end = ends.get(row.verdict, "")
    return (
        f"Half of the trials hold at **{format.rate(row.b)}** {format.interval(row.b_low, row.b_high)} with "
        f"**{row.treatment}**, at {before} with {row.baseline} (their breaking points): {ratio}{end}."
    )


def _treatment(rows: Sequence[EffectRow]) -> str:
    first = rows[0]
    parts = [f"{row.statistic.upper()} {_found(row)}" for row in rows]
    return f"**{first.treatment}** against {first.baseline} at {load(first)}: {'; '.join(parts)}."


def _found(row: EffectRow) -> str:
    size = f"{change(row.ratio)} {interval(row)}".rstrip()
    runs = plural(row.runs, "pair" if row.method == "paired" else "run")
    if row.verdict in _DIRECTIONS:
        return f"**{longer(row)}** {interval(row)} ({runs}, {p(row.p_adjusted)})"
    if row.verdict == "equal":
        return f"equal within {format.percent(row.margin)}: {size} ({runs})"
    why = f"{runs}, {p(row.p_adjusted)}" + (f"; {_more(row)} decide" if row.needed else "")
    return f"no difference detected: {size} ({why})"


def longer(row: EffectRow) -> str:
    """``5.1 % longer``; ``2.35 times as long``, which is no 2.35x longer."""
    changed = change(row.ratio)
    if changed.endswith("x"):
        return f"{changed.removesuffix('x')} times as long"
    return f"{changed.lstrip('+-')} {_DIRECTIONS[row.verdict]}"


def _more(row: EffectRow) -> str:
    noun = "pair" if row.method == "paired" else "run"
    more = plural(row.needed or 0, f"more {noun}")
    return f"about {more} would" if row.method == "paired" else f"about {more} of each would"


def _noise(compared: Compared) -> Iterator[str]:
    groups = grouped(_of_all(compared.noise), lambda noise: (noise.baseline, noise.load))
    several = len({baseline for baseline, _ in groups}) > 1
    for rows in groups.values() if len(groups) <= 2 else ():
        changes = [f"{row.statistic.upper()} {change(row.ratio)} {interval(row)}" for row in rows]
        seen = [
            f"{row.statistic.upper()} above {format.percent(row.detects)}" for row in rows if row.detects < float("inf")
        ]
        how = "" if rows[0].from_second_runs else ", from neighbouring runs"
        limit = f"; with as many pairs, differences of {' and of '.join(seen)} would be detected" if seen else ""
        found = any(row.verdict in _DIRECTIONS for row in rows)
        alarm = " **The baseline differs from itself: do not trust the other differences.**" if found else ""
        of = f" of {rows[0].baseline}" if several else ""
        yield f"A/A{of} at {load(rows[0])}{how}: {'; '.join(changes)}{limit}.{alarm}"


def _calibration(compared: Compared) -> Iterator[str]:
    table = compared.calibration
    smallest = {(row.load, row.service): row for row in table if row.delay_ms > 0}
    if len({row.delay_ms for row in table}) < 3:
        return
    for (at, service, name), delay in limits(table).items():
        if name != ALL or (at, service) not in smallest:
            continue
        if delay is None:
            yield f"Calibration at {at:g} req/s: even the longest delay of {service} was **not detected** in the P50."
        else:
            shown = format.milliseconds(delay)
            yield f"Calibration at {at:g} req/s: delays of {service} are detected in the P50 **from {shown}** on."


def _of_all(rows: Iterable[_Effect]) -> list[_Effect]:
    return [row for row in rows if row.scope == "requests"]
