"""Numbers for people: three significant digits, thousands separated, with their unit; a dash for null."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from loadstone.model.base import plural

if TYPE_CHECKING:
    from loadstone.model.records.trial_row import TrialRow


NOTHING = "–"


class HasLoad(Protocol):
    """A row that has the load of a trial."""

    @property
    def rate(self) -> float:
        """Requests/s; 0 in a closed loop."""

    @property
    def clients(self) -> int | None:
        """Clients of a closed loop; None at a rate."""


def number(value: float | None) -> str:
    """``1,234``, ``12.3``, ``0.0123``: three significant digits, but never fewer than all before the point."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value - round(value)) <= 1e-9 * abs(value):
        return f"{round(value):,}"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 100:
        return f"{value:,.0f}"
    if abs(rounded) < 1e-6:
        return f"{value:.2g}"
    decimals = 2 - math.floor(math.log10(abs(rounded)))
    return f"{value:.{decimals}f}"


def count(value: int | None) -> str:
    """A whole number with its thousands separated."""
    return NOTHING if value is None else f"{value:,}"


def cores(value: float | None) -> str:
    """CPU cores: ``1.53``; 0 below 0.005."""
    return NOTHING if value is None else f"{value:,.2f}" if value >= 0.005 else "0"


def times(value: float) -> str:
    """A ratio: ``1.56``; of less than a tenth three digits, so that it is never shown as 0."""
    return f"{value:,.2f}" if value >= 0.1 else number(value)


def rate(value: float | None) -> str:
    """Requests per second."""
    return NOTHING if value is None else f"{number(value)} req/s"


def clients(value: float | None) -> str:
    """Clients of a closed loop: ``20 clients``."""
    return NOTHING if value is None else plural(round(value), "client")


def load_of(offered: float, of_clients: int | None) -> str:
    """A trial's load: a rate, ``a trace`` (at its own rate), or the clients of a closed loop."""
    if of_clients is not None:
        return clients(of_clients)
    return rate(offered) if offered else "a trace"


def load(row: HasLoad) -> str:
    """The load of a row of a trial."""
    return load_of(row.rate, row.clients)


def broke(row: TrialRow) -> str:
    """``broke at 0.3 s`` for a trial that was stopped early, ``stopped at`` if it is invalid; empty for others."""
    if (at := row.aborted_at_s) is None:
        return ""
    verb = "broke" if row.valid else "stopped"
    return f"{verb} at {at:.1f} s" if at >= 0.05 else f"{verb} at {1000 * at:.0f} ms"


def why(row: TrialRow) -> list[str]:
    """The reasons of a verdict; of an invalid trial also when it was stopped, which a trial that broke has as
    reason."""
    reasons = [reason.replace("stopped after ", "broke at ", 1) for reason in row.reasons]  # up to release 0.1
    return [broke(row), *reasons] if not row.valid and row.stopped else reasons


def interval(low: float | None, high: float | None) -> str:
    """``[1,190, 1,280]``."""
    return f"[{number(low)}, {number(high)}]"


def milliseconds(value: float | None) -> str:
    """A latency given in ms: in seconds from one second on."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{number(value / 1000)} s" if abs(value) >= 1000 else f"{number(value)} ms"


def latency(value: float | None, bound: float | None, shown: Callable[[float | None], str] = milliseconds) -> str:
    """A latency in ms; ``> 5 s`` where only ``bound`` is known of it, as too few requests were answered well."""
    return f"> {shown(bound)}" if value is None and bound is not None else shown(value)


def percent(share: float | None) -> str:
    """A share between 0 and 1 in per cent; below 1 it is never rounded to 100 %, above 0 never to 0 %."""
    if share is None or math.isnan(share):
        return NOTHING
    if 0 < share < 1e-4:
        return "< 0.01 %"
    shown = number(100 * share)
    return "> 99.9 %" if 0.999 < share < 1 and shown.startswith("100") else f"{shown} %"


def duration(seconds: float | None) -> str:
    """``45 s``, ``12 min 5 s``, ``1 h 3 min``."""
    if seconds is None or math.isnan(seconds):
        return NOTHING
    if seconds < 60:
        return f"{number(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def clock(seconds: float) -> str:
    """``0:42``, ``12:05``, ``1:02:09``."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(value: float | None) -> str:
    """Bytes in binary units: ``31.1 GiB``."""
    if value is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{number(value)} {unit}"
        value /= 1024
    return f"{number(value)} TiB"


def digest(text: str) -> str:
    """The first twelve digits of ``sha256:...``, enough to distinguish images; any other text as it is."""
    return text.removeprefix("sha256:")[:12] if text.startswith("sha256:") else text
