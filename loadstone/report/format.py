"""Numbers as people read them: three significant digits, thousands separated, units beside them, a dash for nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

NOTHING = "–"


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
    """Processor time: ``1.53``; what is hardly anything is 0."""
    return NOTHING if value is None else f"{value:,.2f}" if value >= 0.005 else "0"


def rate(value: float | None) -> str:
    """Requests per second."""
    return NOTHING if value is None else f"{number(value)} req/s"


def clients(value: float | None) -> str:
    """Of a closed loop."""
    return NOTHING if value is None else plural(round(value), "client")


def load(row: Mapping[str, Any]) -> str:
    """What a trial was loaded with: a rate, or the clients of a closed loop."""
    return rate(row["rate"]) if row["clients"] is None else clients(row["clients"])


def broke(row: Mapping[str, Any]) -> str:
    """``broke at 0.3 s`` of a trial that was stopped early, else nothing; ``stopped at`` of an invalid one."""
    at = row.get("aborted_at_s")
    if at is None:
        return ""
    verb = "stopped" if row["verdict"] == "invalid" else "broke"
    return f"{verb} at {at:.1f} s" if at >= 0.05 else f"{verb} at {1000 * at:.0f} ms"


def why(row: Mapping[str, Any]) -> list[str]:
    """Why a trial did not hold or is invalid, and when it broke where no reason says so."""
    when = broke(row)
    # Releases up to 0.1 said "stopped after".
    reasons = [reason.replace("stopped after ", "broke at ", 1) for reason in row["reasons"]]
    return [when, *reasons] if when and not any(reason.startswith("broke at ") for reason in reasons) else reasons


def interval(low: float | None, high: float | None) -> str:
    """``[1,190, 1,280]``."""
    return f"[{number(low)}, {number(high)}]"


def milliseconds(value: float | None) -> str:
    """A latency given in ms: in seconds from one second on."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{number(value / 1000)} s" if abs(value) >= 1000 else f"{number(value)} ms"


def percent(share: float | None) -> str:
    """A share of one. What is not quite all is never shown as 100 %."""
    if share is None or math.isnan(share):
        return NOTHING
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


def size(value: float | None) -> str:
    """Bytes in binary units: ``31.1 GiB``."""
    if value is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{number(value)} {unit}"
        value /= 1024
    return f"{number(value)} TiB"


def plural(quantity: int, noun: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{quantity:,} {noun}" + ("" if quantity == 1 else "s")


def digest(text: str) -> str:
    """``sha256:`` and 64 digits as their first twelve, which tell images apart; any other text as it is."""
    return text.removeprefix("sha256:")[:12] if text.startswith("sha256:") else text
