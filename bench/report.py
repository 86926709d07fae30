"""How long reports of five hundred and of three thousand trials take, and how large they are (python -m bench report).

Made-up runs, as the tests have them (``tests/synthetic.py``, ``tests/observed.py``): eight treatments at nine rates,
and a search for eight breaking points, each observed on three nodes with ten services; some requests of each trial of
the first are traced. The largest has the eight treatments at nine rates, 42 times each. Each report is built in a
process of its own, as ``loadstone report`` does it; CPU is that of all its processes. The first time, traces are
analysed, too; their tables are kept beside them.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

from bench.common import ROOT, Row, report
from tests import observed
from tests.synthetic import Synthetic

LEVELS = [
    f"{orchestrator}/{other}"
    for orchestrator in ("nomad", "swarm")
    for other in ("baseline", "vertical", "horizontal", "unlimited")
]
CAPACITIES = {level: 600.0 + 150 * place for place, level in enumerate(LEVELS)}
RATES = [100.0 + 190 * step for step in range(9)]
MANY = "fixed rates, many repetitions"
LIMITS = {500: (30, 10), 3000: (60, 20)}
"""Targets, in seconds and megabytes, by about how many trials there are."""


def runs(folder: Path) -> dict[str, Path]:
    """The run folders by what they are."""
    factors = {"factor": "orchestrator/scaling", "capacities": CAPACITIES, "duration_s": 2.0}
    rated = Synthetic(name="rated", rates=RATES, repetitions=7, **factors).write(folder)  # type: ignore[arg-type]
    observed.observe(rated, spans=40)
    searched = Synthetic(name="searched", repetitions=3, **factors).write(folder)  # type: ignore[arg-type]
    observed.observe(searched)
    many = Synthetic(name="many", rates=RATES, repetitions=42, **factors).write(folder)  # type: ignore[arg-type]
    observed.observe(many)
    return {"fixed rates": rated, "searches": searched, MANY: many}


def build(run: Path) -> tuple[float, float]:
    """Seconds and CPU seconds of one report."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), monotonic()
    code = "import sys; from pathlib import Path; from loadstone.report import page; page.build(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(run)], cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(name: str, run: Path) -> list[Row]:
    """Time and size of a run's report, made for the first time and again."""
    trials = len(list((run / "trials").iterdir()))
    what = f"{trials} trials, {name}"
    longest, largest = LIMITS[3000 if name == MANY else 500]
    rows = []
    for time in ("first", "again"):
        seconds, cpu = build(run)
        rows.append(
            Row(f"{what}: built, {time}", "s", seconds, target=f"at most {longest} s", holds=seconds <= longest)
        )
        rows.append(Row(f"{what}: its CPU, {time}", "s", cpu))
    sizes = {path: path.stat().st_size / 1e6 for path in (run / "report").rglob("*") if path.is_file()}
    whole = sum(sizes.values())
    rows.append(Row(f"{what}: all its files", "MB", whole, target=f"at most {largest} MB", holds=whole <= largest))
    rows.append(Row(f"{what}: index.html", "MB", sizes[run / "report" / "index.html"]))
    for part in ("trials", "treatments", "figures", "tables"):
        inside = [size for path, size in sizes.items() if path.parent.name == part]
        rows.append(Row(f"{what}: {part}/, {len(inside)} files", "MB", sum(inside)))
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for name, run in runs(Path(folder)).items() for row in measured(name, run)]
    notes = ["all its files: the page, those of trials and treatments, figures in three formats, tables in three"]
    report("report", rows, notes)


if __name__ == "__main__":
    main()
