"""``hey`` as a driver: a closed loop, or one that is held to a rate."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loadstone.model.base import Finding
from loadstone.model.load import Load
from loadstone.model.trial_settings import TrialSettings
from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.external import (
    STATISTICS,
    ExternalDriver,
    ToolResult,
    number,
    statistics,
    the_request,
    url,
    whole,
)

_TIMEOUT = "deadline exceeded"


class Hey(ExternalDriver):
    """github.com/rakyll/hey. Held to a rate, each of its connections still waits for an answer before it sends
    again."""

    name = "hey"
    install = "go install github.com/rakyll/hey@latest"
    expresses = {
        "load": frozenset({"rates", "capacity", "closed"}),
        "arrival": frozenset({"constant"}),
        "workload": frozenset({"request"}),
        "protocol": frozenset({"http/1.1"}),
        "policy": frozenset({"fixed", "new"}),
        "slo": frozenset({"p50", "p75", "p90", "p95", "p99"}),
    }
    honours = frozenset({"timeout"})

    @classmethod
    def objections(cls, load: Load, trial: TrialSettings) -> Iterator[Finding]:
        if load.timeout != round(load.timeout):
            yield ("load", "timeout"), f"hey takes whole seconds, not {load.timeout:g}s"

    def version(self) -> str:
        return f"hey, which does not report its version ({self.program()})"

    def command(self, program: str, offer: Offer, seconds: float) -> list[str]:
        request = the_request(offer)
        assert request is not None  # scripts are not in `expresses`
        workers = offer.clients or offer.load.connections
        headers = [part for name, value in request.headers.items() for part in _header(name, value)]
        return [
            *[program, "-z", f"{seconds:g}s", "-c", str(workers), "-t", whole(offer.load.timeout).removesuffix("s")],
            *["-disable-redirects", "-disable-compression"],
            *(["-q", number(offer.rate / workers)] if offer.rate else []),
            *(["-disable-keepalive"] if offer.load.policy == "new" else []),
            *["-m", request.method, *headers, *(["-d", request.body] if request.body else []), url(offer)],
        ]

    def read(self, output: str, offer: Offer, seconds: float) -> ToolResult:
        total = re.search(r"^\s+Total:\s+([\d.]+) secs", output, re.MULTILINE)
        if total is None:
            raise DriverError(f"hey printed no result: {output.strip()[-300:] or 'no output'}")
        answers, _, failures = output.partition("Error distribution:")
        found = re.findall(r"^\s+\[(\d+)\]\s+(\d+) responses", answers, re.MULTILINE)
        statuses = {int(code): int(count) for code, count in found}
        lost = {kind: int(count) for count, kind in re.findall(r"^\s+\[(\d+)\]\s+(.*)$", failures, re.MULTILINE)}
        kinds = {f"status {code}": count for code, count in statuses.items() if code >= 400}
        kinds |= {kind: count for kind, count in lost.items() if _TIMEOUT not in kind}
        remarks = ["hey reports latencies to 0.1 ms, of all answers including errors"]
        if offer.rate:
            remarks.append(f"hey sends in bursts of up to {offer.load.connections}: each connection keeps its own pace")
        answered = sum(statuses.values())
        return ToolResult(
            loop="closed",
            seconds=float(total.group(1)),
            completed=sum(count for code, count in statuses.items() if code < 400),
            answered=answered,
            errors=sum(kinds.values()),
            timeouts=sum(count for kind, count in lost.items() if _TIMEOUT in kind),
            sent=answered + sum(lost.values()),
            service=statistics(**(_latency(output) if answered else {})),  # it prints 0.0000 as the slowest of none
            kinds=kinds,
            remarks=tuple(remarks),
        )


def _header(name: str, value: str) -> list[str]:
    """As options. Go ignores a Host among the headers: it has an option of its own."""
    return ["-host", value] if name.lower() == "host" else ["-H", f"{name}: {value}"]


def _latency(output: str) -> dict[str, float | None]:
    """In ms. hey prints ``99%% in``, with a doubled sign, in some versions."""
    found = {f"p{share}": value for share, value in re.findall(r"^\s+(\d+)%+ in ([\d.]+) secs", output, re.MULTILINE)}
    for name, word in (("mean", "Average"), ("max", "Slowest")):
        if match := re.search(rf"^\s+{word}:\s+([\d.]+) secs", output, re.MULTILINE):
            found[name] = match.group(1)
    return {name: round(1000 * float(found[name]), 1) for name in STATISTICS if name in found}
