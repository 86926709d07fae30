"""``oha`` as a driver: a closed loop, or a rate with latency from the intended send time."""

from __future__ import annotations

import json
from typing import Any

from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.external import ExternalDriver, ToolResult, number, statistics, the_request, url

_PERCENTILES = ("p50", "p75", "p90", "p95", "p99")
_CUT_OFF = "aborted due to deadline"
"""oha's name for requests in flight at the end of the run."""


class Oha(ExternalDriver):
    """github.com/hatoo/oha."""

    name = "oha"
    install = "cargo install oha"
    expresses = {
        "load": frozenset({"rates", "capacity", "closed"}),
        "arrival": frozenset({"constant"}),
        "workload": frozenset({"request"}),
        "protocol": frozenset({"http/1.1"}),
        "policy": frozenset({"fixed", "new"}),
        "slo": frozenset({*_PERCENTILES, "p999"}),
    }
    honours = frozenset({"timeout"})

    def command(self, program: str, offer: Offer, seconds: float) -> list[str]:
        request, load = the_request(offer), offer.load
        assert request is not None  # scripts are not in `expresses`
        headers = [part for name, value in request.headers.items() for part in ("-H", f"{name}: {value}")]
        return [
            *[program, "--no-tui", "--output-format", "json", "-z", f"{seconds:g}s", "-t", f"{load.timeout:g}s"],
            *["-c", str(offer.clients or load.connections), "--redirect", "0"],
            *(["-q", number(offer.rate), "--latency-correction"] if offer.rate else []),
            *(["--disable-keepalive"] if load.policy == "new" else []),
            *["-m", request.method, *headers, *(["-d", request.body] if request.body else []), url(offer)],
        ]

    def read(self, output: str, offer: Offer, seconds: float) -> ToolResult:
        try:
            document: dict[str, Any] = json.loads(output)
            summary, shares = document["summary"], document["latencyPercentiles"]
            statuses = {int(code): int(count) for code, count in document["statusCodeDistribution"].items()}
            lost = {kind: int(count) for kind, count in document["errorDistribution"].items()}
            latency = statistics(
                mean=_ms(summary["average"]),
                max=_ms(summary["slowest"]),
                p999=_ms(shares.get("p99.9")),
                **{name: _ms(shares.get(name)) for name in _PERCENTILES},
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DriverError(f"oha printed no result: {output.strip()[-300:] or 'no output'}") from None
        kinds = {f"status {code}": count for code, count in statuses.items() if code >= 400}
        kinds |= {kind: count for kind, count in lost.items() if kind not in (_CUT_OFF, "timeout")}
        return ToolResult(
            loop="open" if offer.rate else "closed",
            seconds=seconds,
            completed=sum(count for code, count in statuses.items() if code < 400),
            answered=sum(statuses.values()),
            errors=sum(kinds.values()),
            timeouts=lost.get("timeout", 0),
            sent=sum(statuses.values()) + sum(lost.values()),
            in_flight=lost.get(_CUT_OFF, 0),
            intended=latency if offer.rate else None,
            service=None if offer.rate else latency,
            kinds=kinds,
            remarks=("oha's latencies are of all answers, errors among them",),
        )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
