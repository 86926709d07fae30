"""A load while it runs: a live view in a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import math
from collections import deque
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from loadstone.cli.app import err
from loadstone.report import format

_BLOCKS = "▁▂▃▄▅▆▇█"
_COURSE = 40
"""Length of the sparkline of P99, in seconds."""
_LINES = 20
"""The most lines that a run prints where there is no terminal."""
_PHASES = {"warmup": "warming up", "measure": "measuring", "drain": "awaiting the last answers"}


class LiveView:
    """Use as a context manager and give ``progress`` to the driver."""

    def __init__(self, title: str, closed: bool = False, console: Console = err) -> None:
        self._title = title
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None
        self._closed = closed
        self._before: dict[str, Any] = {}
        self._course: deque[float | None] = deque(maxlen=_COURSE)
        self._printed = -math.inf

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        else:
            self._console.print(self._title, markup=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def progress(self, event: dict[str, Any]) -> None:
        """Show a progress event of the driver; called about once a second."""
        self._course.append(event.get("p99_ms"))
        if self._live:
            self._live.update(self._view(event), refresh=True)
        elif event["t"] - self._printed >= max(1.0, event["of"] / _LINES) * 0.9 and event["phase"] != "drain":
            self._console.print(self._line(event), markup=False)
            self._printed = event["t"]
        self._before = event

    def _view(self, event: dict[str, Any]) -> Group:
        bar = Table.grid(padding=(0, 1))
        left = event["of"] and event["phase"] != "drain"
        bar.add_row(
            Text(f"{format.clock(event['t'])} / {_end(event)}"),
            ProgressBar(total=event["of"] or None, completed=min(event["t"], event["of"]), width=30),
            Text(_PHASES.get(event["phase"], event["phase"]), "bold"),
            Text(f"{format.clock(max(event['of'] - event['t'], 0))} left" if left else "", "dim"),
        )
        table = Table.grid(padding=(0, 2))
        table.add_column()
        table.add_column(justify="right", min_width=9)
        table.add_column(justify="right", min_width=9)
        loop = " (closed loop)" if self._closed else ""
        for name, key in (("offered", "offered"), ("completed", "completed")):
            if key in event and not (self._closed and key == "offered"):
                table.add_row(name, f"{event[key]:,}", Text(f"{self._per_second(event, key):,.0f}/s", "dim"))
        if "errors" in event:
            table.add_row("errors", Text(f"{event['errors']:,}", "red" if event["errors"] else ""), "")
        if "in_flight" in event:
            table.add_row("in flight", f"{event['in_flight']:,}", "")
        parts: list[RenderableType] = [Text(self._title, "bold"), bar, table]
        if "p99_ms" in event:
            latency = Text.assemble(
                f"P50 {format.milliseconds(event['p50_ms'])}   P99 {format.milliseconds(event['p99_ms'])}{loop}  ",
                (sparkline(self._course), "cyan"),
            )
            parts.append(latency)
        if "cpu_share" in event:
            late = f"late sends P99 {format.milliseconds(event.get('lateness_p99_ms'))}   "
            generator = Text(f"{late}generator {format.percent(event['cpu_share'])} of its CPU", "dim")
            parts.append(generator)
        return Group(*parts)

    def _line(self, event: dict[str, Any]) -> str:
        parts = [
            f"{format.clock(event['t']):>6} of {_end(event)}",
            _PHASES.get(event["phase"], event["phase"]),
        ]
        if "completed" in event:
            parts += [f"{self._per_second(event, 'completed'):,.0f}/s completed", f"{event['in_flight']:,} in flight"]
            loop = " (closed loop)" if self._closed else ""
            parts += [
                f"P50 {format.milliseconds(event['p50_ms'])}",
                f"P99 {format.milliseconds(event['p99_ms'])}{loop}",
            ]
            parts += [f"late sends P99 {format.milliseconds(event['lateness_p99_ms'])}", f"errors {event['errors']:,}"]
        return "  ".join(parts)

    def _per_second(self, event: dict[str, Any], key: str) -> float:
        seconds = event["t"] - self._before.get("t", 0.0)
        return (event[key] - self._before.get(key, 0)) / seconds if seconds > 0 else 0.0


def _end(event: dict[str, Any]) -> str:
    """When the window ends; of clients that send a number of requests an estimate, ``?`` before the first answer."""
    return format.clock(event["of"]) if event["of"] else "?"


def sparkline(values: deque[float | None]) -> str:
    """A row of blocks whose heights follow the logarithm of ``values``; a space for what is None."""
    some = [math.log(value) for value in values if value]
    if not some:
        return ""
    low, span = min(some), max(max(some) - min(some), math.log(2))
    heights = [None if not value else round((math.log(value) - low) / span * (len(_BLOCKS) - 1)) for value in values]
    return "".join(" " if height is None else _BLOCKS[height] for height in heights)
