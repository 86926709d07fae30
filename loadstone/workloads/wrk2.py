"""``wrk2`` as a driver: a rate over pipelined connections; the original, or the fork of DeathStarBench."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.base import Finding as PreflightFinding
from loadstone.model.base import Finding
from loadstone.model.errors import PreflightError
from loadstone.model.load import Load
from loadstone.model.trial_settings import TrialSettings
from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.external import Spectrum, ToolResult, number, statistics, whole
from loadstone.workloads.wrk import Wrk, counted, milliseconds, row, script_options

_QUANTILE = {"50.000": "p50", "75.000": "p75", "90.000": "p90", "99.000": "p99", "99.900": "p999"}
_SPACING = {"constant": "fixed", "poisson": "exp", "zipf": "zipf"}
_CALIBRATION_S = 10.0


class Wrk2(Wrk):
    """github.com/giltene/wrk2, or wrk2 of github.com/delimitrou/DeathStarBench, which spaces requests by ``-D``.

    The original corrects latency for the intended send time; the fork measures from the actual one, and prints ``99%``
    where the original prints ``Max``.
    """

    name = "wrk2"
    install = "build it from github.com/giltene/wrk2 and put it on the PATH as wrk2"
    expresses = {
        **Wrk.expresses,
        "load": frozenset({"rates", "capacity"}),
        "arrival": frozenset(_SPACING),
        "slo": frozenset({"p50", "p75", "p90", "p95", "p99", "p999"}),
    }

    @classmethod
    def objections(cls, load: Load, trial: TrialSettings) -> Iterator[Finding]:
        yield from super().objections(load, trial)
        for index, rate in enumerate(load.rates or []):
            if fraction := _fraction(rate):
                yield ("load", "rates", index), fraction

    def is_fork(self) -> bool:
        """Whether the installed program is the fork, which has an option for the spacing."""
        program = self.program()
        usage = subprocesses.run([program, "-h"]) if program else None
        return usage is not None and "--dist" in usage.stdout + usage.stderr

    def preflight(self) -> list[PreflightFinding]:
        found = super().preflight()
        return [replace(f, message=f"{f.message} ({self._which()})") if f.level == "ok" else f for f in found]

    def _which(self) -> str:
        return "the DeathStarBench fork" if self.is_fork() else "the original: constant arrivals only"

    def command(self, program: str, offer: Offer, seconds: float) -> list[str]:
        load, spacing = offer.load, _SPACING[str(offer.load.arrival)]
        if spacing != "fixed" and not self.is_fork():
            constant = "which sends at constant gaps"
            raise PreflightError(f"{program} is the original wrk2, {constant}", "write arrival: constant")
        if fraction := _fraction(offer.rate):
            raise DriverError(fraction)
        return [
            *[program, "-c", str(load.connections), "-t", str(load.threads), "-d", whole(seconds)],
            *["-R", number(offer.rate), *(["-D", spacing] if self.is_fork() else [])],
            *["--timeout", whole(load.timeout), "--latency"],
            *script_options(offer),
        ]

    def read(self, output: str, offer: Offer, seconds: float) -> ToolResult:
        result = counted(output, self.name)
        stalled, result = result.timeouts, replace(result, timeouts=None)
        fork = re.search(r"^\s+Thread Stats\s+Avg\s+Stdev\s+99%", output, re.MULTILINE) is not None
        shares = dict(re.findall(r"^\s*([\d.]+)%\s+(\S+)\s*$", output, re.MULTILINE))
        latency = {name: milliseconds(shares[share]) for share, name in _QUANTILE.items() if share in shares}
        rows = [(100 * float(share), float(value)) for value, share in re.findall(_ROW, output, re.MULTILINE)]
        latency["p95"] = next((value for share, value in rows if share >= 95), None)
        latency["max"] = milliseconds(shares.get("100.000", ""))
        latency["mean"] = milliseconds(row(output, "Latency", self.name)[0])
        remarks = []
        if stalled:
            remarks.append(
                f"wrk2 counted {stalled} timeouts: it looks every 2 s and counts each connection whose request is "
                "older than --timeout, so how many requests timed out is not known"
            )
        if result.seconds > _CALIBRATION_S:
            remarks.append("wrk2 counts the requests of its first 10 s, but not their latencies")
        if fork:
            remarks.append("this wrk2 counts latency from the actual send: time that requests waited in it is missing")
            spectrum: Spectrum = [(share, None, value) for share, value in rows]
            return replace(result, service=statistics(**latency), spectrum=spectrum, remarks=tuple(remarks))
        spectrum = [(share, value, None) for share, value in rows]
        return replace(result, intended=statistics(**latency), spectrum=spectrum, remarks=tuple(remarks))


def _fraction(rate: float) -> str:
    """Why wrk2 cannot offer a rate; empty where it can. A search may try one that has a fraction."""
    return f"wrk2 takes whole requests per second, not {number(rate)}" if rate != round(rate) else ""


_ROW = r"^\s+([\d.]+)\s+([01]\.\d+)\s+\d+\s+(?:[\d.]+|inf)\s*$"
"""A row of the detailed spectrum: value in ms, share, count, 1 / (1 - share)."""
