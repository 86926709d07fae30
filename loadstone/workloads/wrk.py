"""``wrk`` as a driver: a closed loop of as many clients as it has connections, or a wrk script over them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from loadstone.model.base import Finding
from loadstone.model.load import Load
from loadstone.model.trial_settings import TrialSettings
from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.external import ExternalDriver, ToolResult, statistics, the_request, url, whole

_SCALE = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 60e3, "h": 3600e3}


class Wrk(ExternalDriver):
    """github.com/wg/wrk."""

    name = "wrk"
    install = "apt-get install wrk"
    version_option = ("-v",)
    expresses = {
        "load": frozenset({"closed"}),
        "workload": frozenset({"request", "script"}),
        "protocol": frozenset({"http/1.1"}),
        "slo": frozenset({"p50", "p75", "p90", "p99"}),
    }
    honours = frozenset({"threads", "timeout", "script"})

    @classmethod
    def objections(cls, load: Load, trial: TrialSettings) -> Iterator[Finding]:
        times: dict[tuple[str, ...], float] = {
            ("trial", "duration"): trial.duration,
            ("trial", "warmup"): trial.warmup_s(0.0),
            ("load", "timeout"): load.timeout,
        }
        if load.capacity is not None:
            times[("load", "capacity", "bracket_duration")] = load.capacity.bracket_duration
        for where, value in times.items():
            if value != round(value):
                yield where, f"{cls.name} takes whole seconds, not {value:g}s"

    def command(self, program: str, offer: Offer, seconds: float) -> list[str]:
        return [
            *[program, "-c", str(offer.clients or offer.load.connections), "-t", str(offer.load.threads)],
            *["-d", whole(seconds), "--timeout", whole(offer.load.timeout), "--latency"],
            *script_options(offer),
        ]

    def threads(self, offer: Offer) -> int | None:
        return offer.load.threads

    def environment(self, offer: Offer) -> dict[str, str]:
        return offer.load.script.environment if offer.load.script is not None else {}

    def read(self, output: str, offer: Offer, seconds: float) -> ToolResult:
        average, _, most, _ = row(output, "Latency", self.name)
        quantiles = dict(re.findall(r"^\s+(\d+)%\s+(\S+)\s*$", output, re.MULTILINE))
        latency = {f"p{percent}": milliseconds(value) for percent, value in quantiles.items()}
        service = statistics(mean=milliseconds(average), max=milliseconds(most), **latency)
        result = counted(output, self.name)
        late = result.timeouts or 0  # answers after --timeout: among its requests, not among its latencies
        answered = max(result.answered - late, 0)
        return replace(
            result,
            loop="closed",
            answered=answered,
            completed=max(result.completed - late, 0),
            service=service if answered else statistics(),  # it prints 0.00us of no latencies
        )


def script_options(offer: Offer) -> list[str]:
    """The URL and what makes the requests: the study's script, or a generated script where options do not suffice."""
    if isinstance(offer.workload, Path):
        arguments = offer.load.script.arguments if offer.load.script is not None else []
        return ["-s", str(offer.workload), url(offer), *(["--", *arguments] if arguments else [])]
    request = the_request(offer)
    assert request is not None
    headers = [part for name, value in request.headers.items() for part in ("-H", f"{name}: {value}")]
    if request.method == "GET" and not request.body:
        return [*headers, url(offer)]
    script = offer.folder / "request.lua"
    script.write_text(f"wrk.method = {_quoted(request.method)}\nwrk.body = {_quoted(request.body)}\n", encoding="utf-8")
    return [*headers, "-s", str(script), url(offer)]


def _quoted(text: str) -> str:
    """A Lua string literal; bytes that are not printable ASCII are escaped as decimal numbers."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03}" for b in text.encode()) + '"'


def counted(output: str, name: str) -> ToolResult:
    """The counts, which wrk and wrk2 print alike; of an open loop, and without latencies."""
    total = re.search(r"^\s*(\d+) requests in (\S+),", output, re.MULTILINE)
    if total is None:
        raise DriverError(f"{name} printed no result: {output.strip()[-300:] or 'no output'}")
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    connect, read, write, timeout = map(int, sockets.groups()) if sockets else (0, 0, 0, 0)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    bad = int(refused.group(1)) if refused else 0
    kinds = {"connect": connect, "read": read, "write": write, "status 400 or above": bad}
    return ToolResult(
        loop="open",
        seconds=(milliseconds(total.group(2)) or 0.0) / 1000,
        answered=int(total.group(1)),
        completed=int(total.group(1)) - bad,
        errors=sum(kinds.values()),
        timeouts=timeout,
        kinds={kind: count for kind, count in kinds.items() if count},
    )


def row(output: str, name: str, tool: str) -> list[str]:
    """The four cells of a row of the thread statistics."""
    found = re.search(rf"^\s+{name}\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*$", output, re.MULTILINE)
    if found is None:
        raise DriverError(f"{tool} printed no line {name!r}")
    return list(found.groups())


def milliseconds(text: str) -> float | None:
    """``392.00us`` as 0.392; None for ``-nan``, which stands for an empty distribution."""
    found = re.fullmatch(r"([\d.]+)(us|ms|s|m|h)", text)
    return float(found.group(1)) * _SCALE[found.group(2)] if found else None
