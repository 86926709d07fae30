"""The progress of a load, on a terminal and elsewhere."""

from __future__ import annotations

import io
from collections import deque

from rich.console import Console

from loadstone.cli.live import LiveView, sparkline

LINE = {"t": 1.0, "of": 11.0, "phase": "measure", "offered": 1000, "sent": 1000, "completed": 990, "errors": 1}
LINE |= {"p50_ms": 1.5, "p99_ms": 9.0, "lateness_p99_ms": 0.2, "in_flight": 9, "cpu_share": 0.1}


def test_the_live_view_of_a_terminal_is_gone_when_it_ends() -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=100, force_terminal=True, _environ={"TERM": "xterm"})
    with LiveView("http://h/: 1,000 req/s", console=console) as view:
        view.progress(LINE | {"t": 1.0, "phase": "warmup"})
        view.progress(LINE | {"t": 2.0, "offered": 2100, "completed": 2080, "p99_ms": None})
        view.progress(LINE | {"t": 11.0, "phase": "drain", "errors": 1200})
    text = shown.getvalue()
    for expected in ("http://h/: 1,000 req/s", "0:02 / 0:11", "warming up", "measuring", "0:09 left", "1,090/s"):
        assert expected in text
    assert "awaiting the last answers" in text and "late sends P99 0.200 ms" in text and "10 % of its CPU" in text
    assert "\x1b[2K" in text[-80:], "the lines are cleared"


def test_plain_lines_are_at_most_twenty_or_so() -> None:
    shown = io.StringIO()
    with LiveView("title", closed=True, console=Console(file=shown, width=200)) as view:
        for second in range(1, 601):
            view.progress(LINE | {"t": float(second), "of": 600.0})
        view.progress({"t": 600.0, "of": 600.0, "phase": "drain"})
    lines = shown.getvalue().splitlines()
    assert lines[0] == "title" and 15 <= len(lines) <= 25
    assert all("(closed loop)" in line for line in lines[1:])


def test_a_driver_that_tells_nothing_is_shown_by_its_time() -> None:
    shown = io.StringIO()
    with LiveView("title", console=Console(file=shown, width=200)) as view:
        view.progress({"t": 1.0, "of": 2.0, "phase": "measure"})
    assert shown.getvalue().splitlines()[1].split() == ["0:01", "of", "0:02", "measuring"]


def test_a_sparkline() -> None:
    assert sparkline(deque([1.0, 10.0, 100.0, None, 1.0])) == "▁▅█ ▁"
    assert sparkline(deque([5.0, 5.1])) == "▁▁"
    assert sparkline(deque([None, None])) == ""
