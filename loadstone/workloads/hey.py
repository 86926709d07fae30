"""``hey`` as a driver: a closed loop, or one that is held to a rate."""

from __future__ import annotations

import math
import re

from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.external import STATISTICS, External, Told, statistics, the_request, url

_TIMEOUT = "deadline exceeded"


class Hey(External):
    """github.com/rakyll/hey. Held to a rate, each of its workers still waits for an answer before it sends again."""

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

    def version(self) -> str:
        return f"hey, which does not tell its version ({self.program()})"

    def command(self, program: str, offer: Offer, seconds: float) -> list[str]:
        request = the_request(offer)
        assert request is not None  # it expresses no scripts
        workers = offer.clients or offer.load.connections
        headers = [part for name, value in request.headers.items() for part in ("-H", f"{name}: {value}")]
        return [
            *[program, "-z", f"{seconds:g}s", "-c", str(workers), "-t", str(math.ceil(offer.load.timeout))],
            *(["-q", f"{offer.rate / workers:.6g}"] if offer.rate else []),
            *(["-disable-keepalive"] if offer.load.policy == "new" else []),
            *["-m", request.method, *headers, *(["-d", request.body] if request.body else []), url(offer)],
        ]

    def read(self, said: str, offer: Offer, seconds: float) -> Told:
        total = re.search(r"^\s+Total:\s+([\d.]+) secs", said, re.MULTILINE)
        if total is None:
            raise DriverError(f"hey printed no result: {said.strip()[-300:] or 'nothing at all'}")
        answers, _, failures = said.partition("Error distribution:")
        found = re.findall(r"^\s+\[(\d+)\]\s+(\d+) responses", answers, re.MULTILINE)
        statuses = {int(code): int(count) for code, count in found}
        lost = {words: int(count) for count, words in re.findall(r"^\s+\[(\d+)\]\s+(.*)$", failures, re.MULTILINE)}
        kinds = {f"status {code}": count for code, count in statuses.items() if code >= 400}
        kinds |= {words: count for words, count in lost.items() if _TIMEOUT not in words}
        remarks = ["hey tells latencies to 0.1 ms, of all answers, errors among them"]
        if offer.rate:
            remarks.append(f"hey sends in bursts of up to {offer.load.connections}: each connection keeps its own pace")
        return Told(
            loop="closed",
            seconds=float(total.group(1)),
            completed=sum(count for code, count in statuses.items() if code < 400),
            answered=sum(statuses.values()),
            errors=sum(kinds.values()),
            timeouts=sum(count for words, count in lost.items() if _TIMEOUT in words),
            sent=sum(statuses.values()) + sum(lost.values()),
            service=statistics(**_latency(said)),
            kinds=kinds,
            remarks=tuple(remarks),
        )


def _latency(said: str) -> dict[str, float | None]:
    """In ms. hey prints ``99%% in``, with one sign too many, in some versions."""
    found = {f"p{share}": value for share, value in re.findall(r"^\s+(\d+)%+ in ([\d.]+) secs", said, re.MULTILINE)}
    for name, word in (("mean", "Average"), ("max", "Slowest")):
        if match := re.search(rf"^\s+{word}:\s+([\d.]+) secs", said, re.MULTILINE):
            found[name] = match.group(1)
    return {name: round(1000 * float(found[name]), 1) for name in STATISTICS if name in found}
