"""loadstone doctor --driver: up to which rate is this machine a reliable load generator?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from loadstone import plugins
from loadstone.analysis.arrivals import dispersion, exponential_distance
from loadstone.cli.app import err, out, print_json
from loadstone.experiments.instrument import LATENESS_LEAST_MS, LATENESS_SHARE, NEGLIGIBLE, faults
from loadstone.infrastructure import temporary
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.facts import host_facts
from loadstone.model.cluster import Cluster
from loadstone.model.errors import PreflightError
from loadstone.report.format import NOTHING
from loadstone.workloads.base import DriverError
from loadstone.workloads.selftest import SelfTest, SelfTestRow, climb, describe

WINDOWS_S = (0.001, 0.01, 0.1)
MOST_DISTANCE, MOST_CLUMPING, ARRIVALS_RATE = 0.035, 0.1, 2_000.0


@dataclass(frozen=True)
class Arrivals:
    """How far arrivals at ``rate`` are from a Poisson process: ``dispersion`` by window, 1 for a Poisson process."""

    rate: float
    ks_distance: float
    dispersion: dict[str, float]


def run(json: bool) -> None:
    """Measure for a minute and print the highest reliable rate. Raises PreflightError if there is none."""
    client, worker = plugins.find("infrastructure", "local")(Cluster()).sketch("process", 0)
    disturbances = _disturbances(client.shared)
    with temporary.directory("selftest") as folder:
        bench = SelfTest(client.cpus, worker.cpus, Path(folder))
        try:
            rows = _measure(bench, quiet=json)
            highest = max((row.rate for row in rows if not row.faults), default=0.0)
            arrivals = _arrivals(bench, min(ARRIVALS_RATE, highest)) if highest else None
        except DriverError as error:
            raise PreflightError(f"the self-test could not be run: {error}") from None
    if json:
        print_json({
            "highest_clean_rate": highest, "steps": [asdict(row) for row in rows],
            "arrivals": None if arrivals is None else asdict(arrivals),
            "disturbances": [asdict(finding) for finding in disturbances],
        })  # fmt: skip
    else:
        _show(rows, highest, arrivals, disturbances)
    if not highest:
        raise PreflightError(f"not even {rows[0].rate:,.0f} req/s are clean here: {rows[0].faults[0]}")


def _measure(bench: SelfTest, quiet: bool) -> list[SelfTestRow]:
    rows = []
    with bench.server() as target:
        steps = climb(
            lambda rate: bench.offer(target, rate),
            lambda summary: list(faults(summary, None, LATENESS_LEAST_MS / 1000)),
        )
        for step in steps:
            rows.append(describe(step))
            if not quiet:
                err.print(f"{step.rate:>9,.0f} req/s  {'; '.join(step.faults) or 'clean'}", markup=False)
    return rows


def _arrivals(bench: SelfTest, rate: float) -> Arrivals:
    at = np.array(bench.arrivals(rate))
    clumping = {f"{window * 1000:g} ms": dispersion(at, window) for window in WINDOWS_S}
    return Arrivals(rate, exponential_distance(np.diff(at)), clumping)


def _show(rows: Sequence[SelfTestRow], highest: float, arrivals: Arrivals | None, found: list[Finding]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("req/s", "lateness P50", "P99", "CPU a request", "busiest thread", ""):
        table.add_column(name, justify="left" if name == "" else "right")
    for row in sorted(rows, key=lambda row: row.rate):
        table.add_row(
            f"{row.rate:,.0f}",
            _figure(row.lateness_p50_ms, ".3f", " ms"),
            _figure(row.lateness_p99_ms, ".3f", " ms"),
            _figure(row.cpu_us_per_request, ".1f", " us"),
            _figure(row.cpu_share, ".0%"),
            "[red]not clean[/]" if row.faults else "[green]clean[/]",
        )
    out.print(table)
    for sentence in sentences(rows, highest, arrivals):
        out.print(sentence, markup=False)
    for finding in found:
        remedy = f"; {finding.remedy}" if finding.remedy else ""
        out.print(f"! {finding.what}: {finding.message}{remedy}", markup=False)


def _figure(value: float | None, spec: str, unit: str = "") -> str:
    return NOTHING if value is None else f"{value:{spec}}{unit}"


def sentences(rows: Sequence[SelfTestRow], highest: float, arrivals: Arrivals | None) -> list[str]:
    """What the test found, in sentences."""
    if not highest or arrivals is None:
        return []
    found = []
    more = "" if any(row.faults for row in rows) else " and more (no higher rate was tried)"
    found.append(
        f"Results are reliable up to about {_rounded(highest):,.0f} req/s{more} with one load thread: "
        f"there its own P99 lateness is within {LATENESS_LEAST_MS:g} ms, it sends {1 - NEGLIGIBLE:.1%} of its "
        "schedule, and it is not saturated."
    )
    found.append(
        f"{LATENESS_LEAST_MS:g} ms is {LATENESS_SHARE:.0%} of a latency objective of "
        f"{LATENESS_LEAST_MS / LATENESS_SHARE:g} ms; for shorter objectives see the P99 values above."
    )
    clumped = [window for window, index in arrivals.dispersion.items() if abs(index - 1) > MOST_CLUMPING]
    good = arrivals.ks_distance <= MOST_DISTANCE and not clumped
    listed = ", ".join(f"{index:.2f} over {window}" for window, index in arrivals.dispersion.items())
    verdict = "as expected" if good else "NOT as expected"
    found.append(
        f"Poisson arrivals at {arrivals.rate:,.0f} req/s, by the server's clock: {verdict} "
        f"(KS distance {arrivals.ks_distance:.3f}, at most {MOST_DISTANCE}; "
        f"dispersion {listed}, 1 +- {MOST_CLUMPING})."
    )
    return found


def _rounded(rate: float) -> float:
    """Rounded down to two significant digits, the precision of a minute."""
    unit = 10.0 ** (math.floor(math.log10(rate)) - 1)
    return math.floor(rate / unit) * unit


def _disturbances(shared: bool) -> list[Finding]:
    """Properties of this machine that reduce the precision of measurements."""
    facts = host_facts()
    found = [f for f in plugins.find("infrastructure", "local")(Cluster()).preflight("process", 0) if f.level != "ok"]
    if shared:
        found.append(Finding("cores", "warning", "generator and server share the only core", "use a machine with two"))
    if facts["governor"] not in ("performance", "absent"):
        remedy = "cpupower frequency-set -g performance"
        found.append(Finding("governor", "warning", f"{facts['governor']}: the processor's speed changes", remedy))
    if facts["virtualised"] == "yes":
        found.append(Finding("virtual machine", "warning", "other machines may use its cores", "repeat, and compare"))
    return found
