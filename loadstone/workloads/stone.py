"""The built-in driver: ``stone load``, latency from the intended send time."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from loadstone.infrastructure.base import Finding as PreflightFinding
from loadstone.infrastructure.binary import stone_binary, stone_version
from loadstone.infrastructure.subprocesses import child
from loadstone.model.arrival import arrival_plan
from loadstone.model.errors import InputError, PreflightError
from loadstone.model.load import Closed, Load
from loadstone.model.workload import operation_plan
from loadstone.workloads.base import Driver, DriverError, Offer, Progress, TargetUnreachable, deadline_s, in_time
from loadstone.workloads.waiting import Waiting

if TYPE_CHECKING:
    from loadstone.model.records.summary import TrialSummary

PRECISE = 100e-6
"""The lateness, in seconds, that precise waiting stays below."""
PRINTED = "script.txt"
"""The standard output of a script."""


def load_plan(offer: Offer) -> dict[str, Any]:
    """The plan file of ``stone load`` for one run; pure. Keys with their default are omitted."""
    load = offer.load
    plan: dict[str, Any] = {
        "target": f"{_scheme(offer)}://{offer.targets[0]}",
        "replicas": list(offer.targets[1:]),
        **_transport(offer),
        "connections": offer.clients or load.connections,
        "threads": load.threads,
        **_arrival(offer),
        "warmup_s": offer.warmup_s,
        "duration_s": offer.duration_s,
        "timeout_s": load.timeout,
        "abandon": load.abandon,
        "drain_s": load.drain or load.timeout,
        "seed": offer.seed,
        **_wait(load, offer.waiting),
        **_generators(offer),
        **_requests(offer),
    }
    if load.record_requests:
        plan["record_requests"] = True
    if load.objective is not None:
        percentile, limit_ms = load.objective.strictest
        plan["slo"] = {"percentile": percentile, "latency_ms": limit_ms}
        plan["abort"] = offer.may_stop
    return plan


def _generators(offer: Offer) -> dict[str, Any]:
    """Load workers, or the CPUs and metrics address of this process. Load workers have CPUs of their own, no
    metrics."""
    if offer.members:
        return {"members": [{"name": member.name, "command": list(member.command)} for member in offer.members]}
    metrics = {"metrics": offer.metrics} if offer.metrics is not None else {}
    return {"cpus": list(offer.cpus), **metrics}


def _wait(load: Load, waiting: Waiting | None) -> dict[str, Any]:
    """How to wait for the next send.

    The rates of a search are unknown beforehand, so it waits precisely, unless its budget of lateness is below
    ``PRECISE``: then the generator polls at every rate.
    """
    lateness = load.lateness if waiting is None else waiting.lateness
    exact = load.capacity is not None and load.wait == "auto" and (lateness is None or lateness >= PRECISE)
    plan: dict[str, Any] = {"wait": "precise" if exact else load.wait}
    if waiting is not None and waiting.rate is not None:
        plan["wait_rate"] = waiting.rate
    if lateness is not None:
        plan["lateness_ms"] = lateness * 1000
    return plan


_OPTIONAL = (
    *("protocol", "descriptors", "policy", "most_connections", "source_addresses", "pipelining", "streams"),
    "wrk2_layout",
)


def _scheme(offer: Offer) -> str:
    if offer.protocol == "zmq":
        return "tcp"
    return "http" if offer.load.tls is None else "https"


def _transport(offer: Offer) -> dict[str, Any]:
    load = offer.load
    given = {key: getattr(load, key) for key in _OPTIONAL} | {"protocol": offer.protocol}
    plan = {key: value for key, value in given.items() if value != Load.model_fields[key].default}
    if load.tls is not None:
        plan["tls"] = load.tls.model_dump(exclude_none=True)
    return plan


def _arrival(offer: Offer) -> dict[str, Any]:
    if offer.clients is not None:
        return {"closed": _closed(offer, offer.clients)}
    arrival = arrival_plan(offer.load.arrival, offer.rate)
    return {"arrival": arrival | ({"steady_warmup": True} if offer.warmup_requests is not None else {})}


def _closed(offer: Offer, clients: int) -> dict[str, Any]:
    """The clients of a closed loop, with what they are to send if that ends the trial."""
    closed = offer.load.closed or Closed(clients=[clients])
    plan: dict[str, Any] = {"clients": clients, "think_s": closed.think}
    if closed.pace is not None:
        plan["pace"] = closed.pace
    if closed.requests is not None:
        plan |= {"requests": closed.requests, "iterations": closed.iterations}
    if offer.requests is not None:
        plan["total"] = offer.requests
    if offer.warmup_requests is not None:
        plan["warmup_requests"] = offer.warmup_requests
    return plan


def _requests(offer: Offer) -> dict[str, Any]:
    if isinstance(offer.workload, Path):
        given = offer.load.script
        arguments, environment = (given.arguments, given.environment) if given is not None else ([], {})
        script = {"path": str(offer.workload), "args": arguments, "env": environment}
        return {"script": script | ({"url_path": offer.script_path} if offer.script_path else {})}
    return {"operations": [operation_plan(name, operation) for name, operation in offer.workload.operations.items()]}


class Stone(Driver):
    """Runs ``stone load`` as a subprocess that ends with this process, even if that is killed."""

    name = "stone"

    def preflight(self) -> list[PreflightFinding]:
        try:
            return [PreflightFinding("stone", "ok", stone_version())]
        except PreflightError as error:
            return [PreflightFinding("stone", "error", str(error))]

    def version(self) -> str:
        return stone_version()

    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        from loadstone.model.records.summary import TrialSummary  # many records, which only a trial needs

        plan_file = offer.folder / "load.json"
        plan_file.write_text(json.dumps(load_plan(offer), indent=1))
        command = [str(stone_binary()), "load", "--plan", str(plan_file), "--out", str(offer.folder), "--progress"]
        # It pins its own load threads; its other threads may run on any CPU.
        with (
            tempfile.TemporaryFile("w+", errors="replace") as output,
            in_time(),
            child(command, within_s=deadline_s(offer), stdout=output, stderr=subprocess.PIPE) as process,
        ):
            messages = _relay(process.stderr, offer, progress)
            code = process.wait()
            output.seek(0)
            printed = output.read()
        if printed:  # by the done() of a script
            (offer.folder / PRINTED).write_text(printed, encoding="utf-8")
        messages += printed
        if code != 0:
            last = messages.strip().removeprefix("stone load: ").removeprefix(f"{plan_file}: ")[-500:]
            raise _error(code, last or "it printed nothing")
        try:
            return TrialSummary.model_validate_json((offer.folder / "summary.json").read_bytes())
        except (OSError, ValueError) as error:
            raise DriverError(f"stone load left no readable summary: {error}") from None


def _error(code: int, messages: str) -> Exception:
    match code:
        case 2:
            return InputError(messages)
        case 3:
            return TargetUnreachable(messages)
    return DriverError(f"stone load exited with {code}: {messages}")


def _relay(lines: IO[str] | None, offer: Offer, progress: Progress) -> str:
    """Forward progress and the window's edges; return all other lines, which are messages."""
    messages = []
    for line in lines or ():
        try:
            event = json.loads(line) if line.startswith("{") else None
        except ValueError:
            event = None
        match event:
            case None:
                messages.append(line)
            case {"window": "begin"}:
                offer.window_begins()
            case {"window": "end"}:
                offer.window_ends()
            case _:
                progress(event)
    return "".join(messages)
