"""The options of ``loadstone load``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_CONNECTIONS, _REQUEST, _RESULT = "Connections", "Request (URL targets)", "Output"


def _option(metavar: str | None, help: str, panel: str | None = None, *names: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel)
    return option


What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        help="A URL, a wrk or wrk2 script (.lua), or an application's workload (hotel-reservation/mixed).",
    ),
]
Rest = Annotated[
    list[str] | None,
    typer.Argument(metavar="TARGET -- ARGS", help="The target of a script or workload, and a script's arguments."),
]
Rate = Annotated[float | None, _option("R", "Requests per second, independent of the answers.")]
Closed = Annotated[int | None, _option("N", "Instead of --rate: N clients, each sending after its last answer.")]
Pace = Annotated[float | None, _option("R", "With --closed: at most R requests per second of all clients together.")]
Count = Annotated[
    int | None, _option("N", "With --closed: each client sends N requests, instead of sending for --duration.")
]
Iterations = Annotated[
    int | None, _option("I", "With --count: each client does so I times, 1 by default; each iteration is timed.")
]
Think = Annotated[str | None, _option("TIME", "A client's pause between an answer and its next request.")]
Arrival = Annotated[str, _option("NAME", "poisson, constant, zipf, or {process: on-off, on: 1s, off: 1s} ...")]
Duration = Annotated[str | None, _option("TIME", "The measured window; 10s by default.")]
Warmup = Annotated[str, _option("TIME", "Warm-up with increasing load before the window; not counted.")]
Slo = Annotated[list[str] | None, _option("P=TIME", "A gate, such as p99=200ms: exit with 5 if it is not met.")]
Seed = Annotated[int, _option("N", "The same seed sends the same requests at the same times.")]
Wait = Annotated[str, _option("HOW", "auto, precise, tick or spin: how threads wait for the next send time.")]
Target = Annotated[str | None, _option("URL", "TARGET as an option.", None, "--target")]
Dataset = Annotated[
    str | None, _option("NAME", "The dataset in the application's stores: its name, or the path of its file.")
]
Members = Annotated[
    list[str] | None,
    _option("COMMAND", "Start a load worker that generates a share: `ssh HOST stone load --member`.", None, "--member"),
]

Connections = Annotated[int | None, _option("N", "Number of connections; 64 by default.", _CONNECTIONS)]
Threads = Annotated[int | None, _option("N", "Threads of the generator; 1 by default.", _CONNECTIONS)]
Timeout = Annotated[
    str, _option("TIME", "Requests without a complete answer after this time count as timeouts.", _CONNECTIONS)
]
NoAbandon = Annotated[
    bool,
    _option(
        None,
        "Send requests late instead of dropping them when no connection is free within --timeout, as wrk2 does.",
        _CONNECTIONS,
        "--no-abandon",
    ),
]
Protocol = Annotated[str, _option("NAME", "http/1.1, http/2 or grpc.", _CONNECTIONS)]
Policy = Annotated[str, _option("NAME", "fixed, growing, or new (a connection for each request).", _CONNECTIONS)]
Pipelining = Annotated[int, _option("N", "Maximum number of requests in flight on a connection.", _CONNECTIONS)]
Ca = Annotated[str | None, _option("FILE", "https: certificate authorities to trust (PEM file).", _CONNECTIONS)]
Insecure = Annotated[bool, _option(None, "https: accept any certificate.", _CONNECTIONS, "--insecure")]
Descriptors = Annotated[str | None, _option("FILE", "grpc: a descriptor set, instead of reflection.", _CONNECTIONS)]

Method = Annotated[str | None, _option("NAME", "GET by default, POST with a body.", _REQUEST)]
Header = Annotated[list[str] | None, _option("'NAME: VALUE'", "Repeatable.", _REQUEST)]
Body = Annotated[str | None, _option("TEXT|@FILE", "The request body.", _REQUEST)]

Out = Annotated[Path | None, _option("DIR", "Write all result files to this folder.", _RESULT, "--out")]
Requests = Annotated[bool, _option(None, "Record each request in DIR/requests.parquet.", _RESULT, "--requests")]
Metrics = Annotated[str | None, _option("HOST:PORT", "Serve Prometheus metrics while the load runs.", _RESULT)]
Wrk2 = Annotated[bool, _option(None, "Print the result as wrk2 does.", _RESULT, "--wrk2")]
Wrk2Layout = Annotated[
    str | None,
    _option(
        "LAYOUT", "Layout of wrk2's text: current (the default), or before-2023, as in DeathStarBench's fork.", _RESULT
    ),
]
