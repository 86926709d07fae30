"""``k6`` as a driver: a generated script with a constant arrival rate, or a constant number of users."""

from __future__ import annotations

import json
from typing import Any

from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.external import ExternalDriver, ToolResult, statistics, the_request, url

_SCRIPT = """\
import http from "k6/http";
import { sleep } from "k6";
import { Counter } from "k6/metrics";

const request = %(request)s;
const timeouts = new Counter("timeouts");
const failures = new Counter("failures");
const good = new Counter("good");

export const options = %(options)s;

export default function () {
  const answer = http.request(request.method, request.url, request.body, request.params);
  if (answer.error_code === 1050) timeouts.add(1);
  else if (answer.status === 0 || answer.status >= 400) failures.add(1);
  else good.add(1);
  if (request.think > 0) sleep(request.think);
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data) };
}
"""
_TREND = {"mean": "avg", "p50": "med", "p75": "p(75)", "p90": "p(90)", "p95": "p(95)", "p99": "p(99)"}
_TREND |= {"p999": "p(99.9)", "max": "max"}


class K6(ExternalDriver):
    """github.com/grafana/k6: an open loop while it has free users; each user has a connection."""

    name = "k6"
    install = "go install go.k6.io/k6@latest, or see grafana.com/docs/k6"
    version_option = ("version",)
    expresses = {
        "load": frozenset({"rates", "capacity", "closed"}),
        "arrival": frozenset({"constant"}),
        "workload": frozenset({"request"}),
        "protocol": frozenset({"http/1.1"}),
        "policy": frozenset({"fixed", "new"}),
        "slo": frozenset({"p50", "p75", "p90", "p95", "p99", "p999"}),
    }
    honours = frozenset({"timeout", "think"})

    def command(self, program: str, offer: Offer, seconds: float) -> list[str]:
        script = offer.folder / "k6.js"
        script.write_text(k6_script(offer, seconds), encoding="utf-8")
        return [program, "run", "--quiet", "--no-usage-report", str(script)]

    def read(self, output: str, offer: Offer, seconds: float) -> ToolResult:
        try:
            metrics = {name: metric["values"] for name, metric in json.loads(output)["metrics"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DriverError(f"k6 printed no summary: {output.strip()[-300:] or 'no output'}") from None

        def counter(name: str) -> int:
            return round(metrics[name]["count"]) if name in metrics else 0

        good: dict[str, float] = metrics.get("http_req_duration{expected_response:true}", {})
        answered = round(good.get("count", 0))
        service = {name: good[key] for name, key in _TREND.items() if answered and key in good}
        sent, unsent = counter("http_reqs"), counter("dropped_iterations")
        kinds = {"status 400 or above, or no connection": counter("failures")}
        remarks = ["k6 leaves the time to connect, and to wait for a user, out of its latencies"]
        if unsent:
            remarks.append(f"k6 had no user free {unsent} times: it does not report whether the system or k6 was slow")
        return ToolResult(
            loop="open" if offer.clients is None else "closed",
            seconds=seconds,
            completed=counter("good"),
            answered=answered,
            errors=counter("failures"),
            timeouts=counter("timeouts"),
            offered=sent + unsent,
            sent=sent,
            unsent=unsent,
            service=statistics(**service),
            kinds={kind: count for kind, count in kinds.items() if count},
            remarks=tuple(remarks),
        )


def k6_script(offer: Offer, seconds: float) -> str:
    """The script of one run; pure."""
    request = the_request(offer)
    assert request is not None  # scripts are not in `expresses`
    load, users = offer.load, offer.clients or offer.load.connections
    think = load.closed.think if load.closed is not None else 0.0
    if offer.clients is None:
        # Whole numbers only: a rate of 12.5/s is 12,500 in 1000 s.
        scenario: dict[str, Any] = {"executor": "constant-arrival-rate", "rate": round(offer.rate * 1000)}
        scenario |= {"timeUnit": "1000s", "preAllocatedVUs": users, "maxVUs": users}
    else:
        scenario = {"executor": "constant-vus", "vus": users}
    stop = f"{load.drain or load.timeout:g}s"
    options = {
        "discardResponseBodies": True,
        "noConnectionReuse": load.policy == "new",
        "summaryTrendStats": [*_TREND.values(), "count"],
        "scenarios": {"load": {**scenario, "duration": f"{seconds:g}s", "gracefulStop": stop}},
    }
    request_json = {
        "method": request.method,
        "url": url(offer),
        "body": request.body or None,
        "think": think,
        "params": {"headers": request.headers, "timeout": f"{load.timeout:g}s", "redirects": 0},
    }
    return _SCRIPT % {"request": json.dumps(request_json), "options": json.dumps(options, indent=2)}
