"""loadstone load: offer load to an address, by a URL, a wrk script or an application's workload."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from loadstone.cli import load_options as options
from loadstone.cli import load_request as asking
from loadstone.cli.app import Json, echo, err, out, print_json, warn
from loadstone.cli.live import LiveView
from loadstone.cli.load_request import LoadSettings
from loadstone.cli.outcome import render
from loadstone.experiments.durable import writing
from loadstone.experiments.interruption import interruptible
from loadstone.experiments.verdict import Verdict, judge
from loadstone.infrastructure import temporary
from loadstone.infrastructure.measurement_lock import measuring
from loadstone.model import address
from loadstone.model.errors import (
    InputError,
    Interrupted,
    LoadstoneError,
    NotHeld,
    PreflightError,
    TrialsInvalid,
    unreadable,
)
from loadstone.model.load import SCRIPT
from loadstone.model.records.summary import TrialSummary
from loadstone.model.units import format_seconds
from loadstone.report import format
from loadstone.workloads.base import DriverError, Offer, TargetUnreachable
from loadstone.workloads.members import LoadWorkerCommand
from loadstone.workloads.stone import PRINTED, Stone

EPILOG = "\n\n".join(
    (
        "Examples:",
        "[bold]loadstone load http://127.0.0.1:8080/ --rate 1000 --slo p99=50ms[/]",
        "[bold]loadstone load http://127.0.0.1:8080/ --closed 20 --duration 30s[/]",
        "[bold]loadstone load mixed.lua http://127.0.0.1:5000 --rate 500 -- 100[/]",
        "[bold]loadstone load hotel-reservation/mixed --target http://127.0.0.1:5000 --rate 300 --json[/]",
    )
)


def command(
    what: options.What,
    rest: options.Rest = None,
    rate: options.Rate = None,
    closed: options.Closed = None,
    think: options.Think = None,
    pace: options.Pace = None,
    count: options.Count = None,
    iterations: options.Iterations = None,
    arrival: options.Arrival = "poisson",
    duration: options.Duration = None,
    warmup: options.Warmup = "1s",
    slo: options.Slo = None,
    seed: options.Seed = 1,
    wait: options.Wait = "auto",
    to: options.Target = None,
    dataset: options.Dataset = None,
    member: options.Members = None,
    connections: options.Connections = None,
    threads: options.Threads = None,
    timeout: options.Timeout = "5s",
    no_abandon: options.NoAbandon = False,
    protocol: options.Protocol = "http/1.1",
    policy: options.Policy = "fixed",
    pipelining: options.Pipelining = 1,
    ca: options.Ca = None,
    insecure: options.Insecure = False,
    descriptors: options.Descriptors = None,
    method: options.Method = None,
    header: options.Header = None,
    body: options.Body = None,
    folder: options.Out = None,
    requests: options.Requests = False,
    metrics: options.Metrics = None,
    wrk2: options.Wrk2 = False,
    wrk2_layout: options.Wrk2Layout = None,
    json: Json = False,
) -> None:
    """Offer load to an address and measure latency from the intended send time of each request.

    Exit codes: 2 wrong input, 3 the target does not answer, 4 the generator was the bottleneck, or no request
    completed, 5 --slo was not held.
    """
    arguments = list(rest or [])
    if to is not None and address.is_url(what):
        raise InputError(f"--target {to}: {what} is the target; --target is for a script or an application's workload")
    given = to if to is not None else what if address.is_url(what) else arguments.pop(0) if arguments else None
    if arguments and not what.endswith(SCRIPT):
        raise InputError(f"{arguments[0]!r}: only a script takes arguments")
    if closed is not None and arrival != "poisson":
        raise InputError(
            "--arrival cannot be combined with --closed: a client sends after each answer, not on a schedule"
        )
    if json and wrk2:
        raise InputError("--json and --wrk2 exclude each other: choose one output format")
    if requests and folder is None:
        raise InputError("--requests needs --out, the folder for its file")
    if wrk2_layout is not None and not wrk2 and folder is None:
        raise InputError("--wrk2-layout is for the text of --wrk2, and for that in the folder of --out")
    if metrics is not None and member:
        raise InputError("--metrics is for a generator on this machine: with --member, others send; leave one out")
    if count is not None and duration is not None:
        raise InputError("--count and --duration exclude each other: with --count, clients send until all have sent N")
    workload = asking.workload(what, {"method": method, "headers": _headers(header), "body": _body(body)}, dataset)
    url = asking.target(given, what, workload)
    requested = asking.settings(
        {
            "rates": [rate] if rate is not None else None,
            "closed": _closed(closed, think=think, pace=pace, requests=count, iterations=iterations),
            "arrival": asking.value("--arrival", arrival) if closed is None else None,
            "slo": asking.objective(slo),
            "seed": seed,
            "wait": wait,
            "workers": len(member) if member else None,
            "connections": connections,
            "threads": threads,
            "timeout": timeout,
            "abandon": False if no_abandon else None,
            "protocol": protocol,
            "policy": policy,
            "pipelining": pipelining if pipelining != 1 else None,
            "tls": _tls(url.scheme, ca, insecure),
            "descriptors": descriptors,
            "record_requests": requests,
            "wrk2_layout": wrk2_layout,
            "script": {"arguments": arguments} if arguments else None,
        },
        {"duration": (duration or "10s") if count is None else None, "warmup": warmup},
    )
    _check_load(requested, rate, closed)
    with _kept(folder) as place:
        offer = Offer(
            targets=(address.host_port(url),),
            workload=workload,
            load=requested.load,
            rate=rate or 0.0,
            clients=closed,
            warmup_s=requested.trial.warmup_s(rate or 0.0),
            duration_s=requested.trial.limit if count is not None else requested.trial.duration,
            seed=seed,
            may_stop=False,
            cpus=(),
            folder=place,
            script_path=address.path(url) if isinstance(workload, Path) else "",
            metrics=metrics,
            members=_members(member or []),
        )
        title = f"{what}{'' if what == given else f' at {given}'}: {_description(offer)}"
        summary = _run(offer, title)
        judged = judge(summary, requested.load.objective, lateness_s=requested.load.lateness)
        verdict = replace(judged, reasons=tuple(map(asking.in_options, judged.reasons)))
        if json:
            print_json({**summary.observed().model_dump(mode="json", by_alias=True), "verdict": asdict(verdict)})
        elif wrk2:
            echo((place / "wrk2.txt").read_text(encoding="utf-8", errors="replace"))
        else:
            if (place / PRINTED).exists():
                echo((place / PRINTED).read_text(encoding="utf-8"))
            out.print(render(summary.observed(), verdict, title))
    _conclude(requested, summary, verdict, folder)


def _members(commands: list[str]) -> tuple[LoadWorkerCommand, ...]:
    try:
        split = [tuple(shlex.split(command)) for command in commands]
    except ValueError as error:
        raise InputError(f"--member: not a command line: {error}") from None
    if () in split:
        raise InputError("--member '': is empty; give a command, for example `ssh HOST stone load --member`")
    return tuple(LoadWorkerCommand(f"member-{n}", command) for n, command in enumerate(split, 1))


def _closed(clients: int | None, **given: Any) -> dict[str, Any] | None:
    """The closed loop; None without clients, to which all other options belong."""
    kept = {name: value for name, value in given.items() if value is not None}
    if clients is not None:
        return {"clients": [clients], **kept}
    if name := next(iter(kept), None):
        option = {"requests": "count"}.get(name, name)
        raise InputError(f"--{option} is for --closed: only clients of a closed loop wait for their answers")
    return None


def _check_load(requested: LoadSettings, rate: float | None, closed: int | None) -> None:
    ways = [rate is not None, closed is not None, requested.load.own_pace].count(True)
    if ways == 0:
        raise InputError("no load: give --rate R (requests per second) or --closed N (clients)")
    if ways > 1:
        raise InputError("--rate, --closed and a trace with its own speed exclude each other; keep one")


def _tls(scheme: str, ca: str | None, insecure: bool) -> dict[str, Any] | None:
    if scheme == "https":
        return {"insecure": insecure, **({"ca": ca} if ca is not None else {})}
    if ca is not None or insecure:
        raise InputError(f"{'--ca' if ca is not None else '--insecure'} is for https://, and the target is http://")
    return None


def _headers(texts: list[str] | None) -> dict[str, str]:
    pairs = [text.partition(":") for text in texts or []]
    if wrong := next((name for name, colon, _ in pairs if not colon), None):
        raise InputError(f"--header {wrong!r}: write it like 'Name: value'")
    names = [name.strip() for name, _, _ in pairs]
    if twice := next((name for n, name in enumerate(names) if name.lower() in map(str.lower, names[:n])), None):
        raise InputError(f"--header {twice!r} is given twice; give it once, with all values in it")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _body(text: str | None) -> str | None:
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_bytes().decode("utf-8")  # as it is: read_text() would change line ends
    except OSError as error:
        raise InputError(f"--body {text}: {unreadable(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"--body {text}: cannot be read: {error}") from None


@contextmanager
def _kept(folder: Path | None) -> Iterator[Path]:
    """The folder of the files: the user's, or a temporary one."""
    if folder is None:
        with temporary.directory("load") as place:
            yield Path(place)
        return
    with writing(folder):
        if (folder / "summary.json").exists():
            raise InputError(f"--out {folder}: already contains the results of another load; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
    yield folder.resolve()


def _description(offer: Offer) -> str:
    how = format.load_of(offer.rate, offer.clients)
    if offer.clients is None:
        arrival = offer.load.arrival
        how += f" ({arrival if isinstance(arrival, str) else arrival.process})" if offer.rate else " at its own pace"
    else:
        how += " in a closed loop"
    warm = f"{format_seconds(offer.warmup_s)} of warm-up, then " if offer.warmup_s else ""
    closed = offer.load.closed
    if closed is not None and closed.requests is not None:
        times = f"{closed.iterations} x " if closed.iterations > 1 else ""
        return f"{how}, {warm}{times}{closed.requests:,} requests of each"
    return f"{how}, {warm}{format_seconds(offer.duration_s)}"


def _run(offer: Offer, title: str) -> TrialSummary:
    driver = Stone()
    driver.version()  # raises where the binary is missing
    try:
        with (
            measuring(shared_ok=True) as other,
            interruptible(),
            LiveView(title, closed=offer.clients is not None) as view,
        ):
            if other:
                warn(other)
            return driver.run(offer, view.progress)
    except Interrupted:
        raise Interrupted("interrupted: the measurement is incomplete") from None
    except TargetUnreachable as error:
        raise PreflightError(asking.in_options(str(error))) from None
    except DriverError as error:
        raise LoadstoneError(str(error)) from None


def _conclude(requested: LoadSettings, summary: TrialSummary, verdict: Verdict, folder: Path | None) -> None:
    if folder is not None:
        err.print(f"files: {folder}", markup=False, style="dim")
    if verdict.verdict == "invalid":
        raise TrialsInvalid("the measurement is invalid: " + "; ".join(verdict.reasons))
    if verdict.verdict == "not held":
        nothing = "" if summary.counts.completed else ": no request completed"
        raise NotHeld(f"the SLO {requested.load.objective} was not held{nothing}")
