"""What benchmarks share: one row a result, a table for the eye and a JSON file for the documentation."""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One result: the median of its rounds with the lowest and highest, beside a peer's and beside a target."""

    metric: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    target: str | None = None
    holds: bool | None = None
    """None beside a target: what was measured cannot tell."""


def median_row(metric: str, unit: str, rounds: Sequence[float]) -> Row:
    """The row of one quantity measured several times."""
    return Row(metric, unit, statistics.median(rounds), min(rounds), max(rounds))


def report(name: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> Path:
    """Print the rows and the notes, write the rows to ``bench/results/<name>.json`` and return its path."""
    table = Table(title=name, title_justify="left")
    for column in ("metric", "value", "low to high", "peer", "ratio", "target"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(
            row.metric,
            f"{row.value:.4g} {row.unit}",
            "" if row.low is None or row.high is None else f"{row.low:.4g} to {row.high:.4g}",
            "" if row.peer_value is None else f"{row.peer} {row.peer_value:.4g}",
            "" if row.ratio is None else f"{row.ratio:.3f}",
            _verdict(row),
        )
    console = Console(width=None if os.isatty(1) else 150)
    console.print(table)
    for note in notes:
        console.print(f"- {note}", markup=False, highlight=False)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return path


def _verdict(row: Row) -> str:
    if row.target is None:
        return ""
    if row.holds is None:
        return f"{row.target}: cannot tell"
    return f"[green]{row.target}: holds[/]" if row.holds else f"[bold red]{row.target}: MISSED[/]"


def free_port() -> int:
    """A free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def build_stone() -> Path:
    """Build the current source of ``stone`` as one static binary and return its path."""
    binary = ROOT / ".build" / "stone"
    binary.parent.mkdir(exist_ok=True)
    command = ["go", "build", "-o", str(binary), "./cmd/stone"]
    subprocess.run(command, cwd=ROOT / "stone", env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    return binary
