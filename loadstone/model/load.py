"""How a study loads its application: at rates, in a search, or by clients in a closed loop; over what, from where."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.model.arrival import Arrival, ArrivalProcess, Replay, shape_seconds
from loadstone.model.base import Finding, Model
from loadstone.model.slo import Slo, key_of
from loadstone.model.units import LONGEST_S, Duration, Pause, Share, format_seconds, format_share

Rate = Annotated[float, Field(gt=0, le=10_000_000)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
"""A number of requests."""
Connections = Annotated[int, Field(ge=1, le=1_000_000)]
Protocol = Literal["http/1.1", "http/2", "grpc"]
Policy = Literal["fixed", "growing", "new"]
MOST_ITERATIONS = 100_000
"""The most iterations of a closed loop, of all clients together: each is a row."""
SCRIPT = ".lua"
"""How the name of a workload ends that is a wrk or wrk2 script."""


def _possible_precision(value: float) -> float:
    if not 0.01 <= value <= 0.5:
        raise ValueError(f"{format_share(value)} is not between 1% and 50%; 5% takes some ten minutes")
    return value


def _ip_address(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        raise ValueError(f"{value!r} is not an IP address") from None


class Capacity(Model):
    """Search for the breaking point under an SLO, to a relative ``precision``."""

    slo: Slo
    """What a trial is judged by."""
    precision: Annotated[Share, AfterValidator(_possible_precision)] = 0.05
    """The search ends when the 95 % interval is within +- this share of the breaking point; where the machine's own
    speed drifts by more, another run may differ by more, and the result has a warning."""
    start: Rate = 100.0
    """The first rate, in requests per second; choose it rather too low than too high."""
    highest: Rate = 100_000.0
    """No trial offers more requests per second than this."""
    bracket_duration: Duration = 10.0
    """The window of the short trials that find the rough range; never longer than ``trial.duration``."""
    predict: bool = False
    """Search the first treatment first, load it five times below its breaking point, and record the predictions of the
    capacity model for treatments that differ from it in scaling or placement alone, before they are measured."""
    guided: bool = False
    """With ``predict``: measure one treatment after the other, the highest prediction first, and leave out those that
    are predicted to sustain less than a measured one. Finds the best of many, such as all splits of an application."""

    def findings(self) -> Iterator[Finding]:
        if self.start >= self.highest:
            yield ("start",), f"{self.start:g} is not below 'highest', {self.highest:g}; begin lower"
        if self.guided and not self.predict:
            yield ("guided",), "there is nothing to be guided by; add predict: true"


class Closed(Model):
    """A closed loop: clients that each wait for an answer, think, and ask again. It has no offered rate."""

    clients: Annotated[list[Connections], Field(min_length=1, examples=[[1, 5, 10, 20]])]
    """How many clients at once; one trial for each number."""
    think: Annotated[Pause, Field(le=LONGEST_S)] = 0.0
    """How long a client waits between an answer and its next request."""
    pace: Rate | None = None
    """The most requests per second of all clients together, as the constant throughput timer of JMeter has it: each
    client has slots at a steady distance, and sends when it was answered or at its next slot, whichever is later.
    Slots that pass meanwhile are not made up for; they are counted (``slots_missed``)."""
    requests: Annotated[Count | None, Field(examples=[100])] = None
    """How many requests each client sends in each iteration, one after the other. The trial ends with the last answer
    instead of after ``trial.duration``."""
    iterations: Annotated[int, Field(ge=1, le=MOST_ITERATIONS)] = 1
    """How many iterations of ``requests`` each client makes; what each took is in ``iterations.parquet``."""

    def findings(self) -> Iterator[Finding]:
        if self.requests is None and self.iterations > 1:
            yield ("iterations",), "of how many requests? Give 'requests', for example requests: 100"
        elif self.requests is not None and (rows := self.iterations * max(self.clients)) > MOST_ITERATIONS:
            text = f"{self.iterations:,} of {max(self.clients):,} clients are {rows:,}, more than {MOST_ITERATIONS:,}"
            yield ("iterations",), f"{text}; make longer ones"
        for index, clients in enumerate(self.clients):
            if clients in self.clients[:index]:
                yield ("clients", index), f"{clients} is given twice; use trial.repetitions to repeat"


class Tls(Model):
    """Requests go over TLS, and the server's certificate is checked."""

    ca: str | None = None
    """A file of certificates (PEM) to trust, relative to the study file; by default those of the system."""
    server_name: str | None = None
    """The name that the certificate must have; by default the target's host."""
    insecure: bool = False
    """Accept any certificate: for servers of your own in a laboratory."""

    def findings(self) -> Iterator[Finding]:
        if self.insecure and self.ca is not None:
            yield ("insecure",), "accepts any certificate, so 'ca' would not be looked at; keep one of them"


class Script(Model):
    """What a Lua workload is given."""

    arguments: list[str] = []
    """What ``init(args)`` gets, as after ``--`` on the command line of wrk."""
    environment: dict[str, str] = {}
    """Variables that ``os.getenv`` finds in the script."""


class Load(Model):
    """How load is offered: fixed ``rates``, a ``capacity`` search, or ``closed`` loops. Rates are requests/s."""

    arrival: Arrival = "poisson"
    """How intended send times follow each other: a process by its name, or with its keys and a shape of the rate."""
    rates: Annotated[list[Rate], Field(min_length=1)] | None = None
    """Fixed offered loads, in requests per second."""
    capacity: Capacity | None = None
    """A search for the breaking point, instead of ``rates``."""
    closed: Closed | None = None
    """Clients in a closed loop, instead of ``rates``."""
    slo: Slo | None = None
    """What a trial at a fixed rate is judged by, and one of a closed loop if given."""
    protocol: Protocol = "http/1.1"
    """The protocol of requests, unless their workload has one."""
    tls: Tls | None = None
    """Send over TLS; ``tls: {}`` checks certificates as usual."""
    descriptors: str | None = None
    """gRPC: a file descriptor set, relative to the study file; by default server reflection is used."""
    connections: Connections = 64
    """Connections that the load generator keeps open, of all load workers together. One can have some 60,000 to each
    address of the target, from each of its own."""
    policy: Policy = "fixed"
    """``fixed`` keeps to ``connections``, ``growing`` opens more when none is free, ``new`` opens one per request."""
    most_connections: Connections | None = None
    """With policy ``growing``: the maximum number of connections, by default 1024."""
    source_addresses: list[Annotated[str, AfterValidator(_ip_address)]] = []
    """IP addresses of the load generator's machine to connect from in turn; by default the kernel's choice."""
    pipelining: Annotated[int, Field(ge=1, le=1000)] = 1
    """HTTP/1.1: the most requests in flight on one connection. More than 1 is for comparison with old results."""
    streams: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """HTTP/2 and gRPC: the most requests in flight on one connection, by default 100."""
    threads: Annotated[int, Field(ge=1, le=64)] = 1
    """Threads of the load generator."""
    timeout: Annotated[Duration, Field(le=3600)] = 5.0
    """A request without a whole answer for this long counts as timed out, or as an error if it could not even connect;
    an answer later than this as late."""
    abandon: bool = True
    """Drop requests that have waited for a connection longer than ``timeout``. They count as abandoned,
    a part of the unsent. With ``false`` they are sent late, as wrk2 does."""
    drain: Annotated[Duration, Field(le=LONGEST_S)] | None = None
    """How long answers are awaited after the window; by default as long as ``timeout``."""
    wait: Literal["auto", "precise", "tick", "spin"] = "auto"
    """How the generator waits for the next send: exact and costly, in ticks, or without sleeping. ``auto`` chooses once
    for all trials of a study: by its highest rate per thread (of a trace at its own pace, by that trace's), and
    ``precise`` for a search."""
    lateness: Annotated[Duration, Field(le=LONGEST_S)] | None = None
    """How late the generator's own sends may be at P99 before a trial is invalid; by default a tenth of the
    strictest latency limit and at least 1 ms."""
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] = 1
    """The seed of all random numbers: the same seed sends the same requests at the same times."""
    record_requests: bool = False
    """Write one record per request into the trial's folder (``requests.parquet``)."""
    wrk2_layout: Literal["current", "before-2023"] = "current"
    """Layout of ``wrk2.txt``: as DeathStarBench's wrk2 prints now, or as it did until the end of 2022."""
    driver: str = "stone"
    """What generates the load: ``stone``, which is Loadstone's own, or ``wrk``, ``wrk2``, ``k6``, ``hey``, ``oha``."""
    script: Script | None = None
    """Arguments and environment of a Lua workload."""
    workers: Annotated[int | None, Field(ge=1, le=1000)] = None
    """How many load workers generate a share each, on the machines with the role ``client``, in turn where there are
    fewer of them. By default one on each of as many machines as the highest rate needs, at 20,000 requests/s for each
    of ``threads``; on all of them where answers decide the rate (a search, a closed loop without ``pace``)."""

    def findings(self) -> Iterator[Finding]:
        yield from self._how_much()
        yield from self.contradictions()

    def contradictions(self) -> Iterator[Finding]:
        """What does not go together, however much is offered."""
        if isinstance(self.arrival, ArrivalProcess):
            yield from ((("arrival", *path), text) for path, text in self.arrival.findings())
        yield from self._wrong_in_a_closed_loop()
        yield from self.wrong_connections(self.protocol)
        for name in ("capacity", "closed", "tls"):
            if (part := getattr(self, name)) is not None:
                yield from (((name, *path), text) for path, text in part.findings())
        if (slo := self.objective) is not None:
            where = ("slo",) if self.capacity is None else ("capacity", "slo")
            for percentile, limit in slo.limits.items():
                if limit >= self.timeout * 1000:
                    text = f"{format_seconds(limit / 1000)} is not below load.timeout, {format_seconds(self.timeout)}"
                    yield (*where, key_of(percentile)), text + "; raise the timeout"

    def misfits(self, window: float) -> Iterator[Finding]:
        """What does not fit trials of ``window`` seconds."""
        shape = shape_seconds(self.arrival)
        if shape is None:
            return
        if abs(shape - window) > 1e-6:
            text = f"its phases last {format_seconds(shape)} together, and trial.duration is {format_seconds(window)}"
            yield ("arrival", "shape"), f"{text}; make them equal"
        elif self.capacity is not None and self.capacity.bracket_duration < window:
            short = format_seconds(self.capacity.bracket_duration)
            text = f"{short} is shorter than the shape of the arrivals, {format_seconds(shape)}"
            yield ("capacity", "bracket_duration"), f"{text}; every trial needs the whole of it"

    def _how_much(self) -> Iterator[Finding]:
        given = [name for name in ("rates", "capacity", "closed") if getattr(self, name) is not None]
        if self.own_pace:
            if self.slo is None:
                yield (), "a trace needs an 'slo' to be judged by, for example slo: {p99: 200ms}"
            for name in given:
                why = f"a trace at its own pace has its own rate; remove it, or remove {name!r}"
                yield ("arrival", "speed"), why
        elif not given:
            yield (), "give 'rates' (requests per second), 'capacity' (an SLO to search for) or 'closed' (clients)"
        elif len(given) > 1:
            *most, last = map(repr, given)
            named = f"{', '.join(most)} and {last}"
            yield (), f"{named} exclude each other; " + ("remove one" if len(given) == 2 else "keep one")
        elif self.rates is not None and self.slo is None:
            yield (), "fixed 'rates' need an 'slo' to be judged by, for example slo: {p99: 200ms}"
        if self.capacity is not None and self.slo is not None:
            yield ("slo",), "the SLO of a capacity search stands under 'capacity'"
        for index, rate in enumerate(self.rates or []):
            if rate in (self.rates or [])[:index]:
                yield ("rates", index), f"{rate:g} is given twice; use trial.repetitions to repeat"

    def _wrong_in_a_closed_loop(self) -> Iterator[Finding]:
        if self.closed is not None:
            for name, why in _NOT_IN_A_CLOSED_LOOP.items():
                if name in self.model_fields_set:
                    yield (name,), f"does not go with 'closed': {why}; remove it"

    def wrong_connections(self, protocol: str) -> Iterator[Finding]:
        """What does not go with a protocol."""
        fewest = min(self.closed.clients) if self.closed is not None else self.connections
        if self.threads > fewest:
            what = "clients" if self.closed is not None else "connections"
            yield ("threads",), f"{self.threads} is more than {what}, {fewest}; each thread needs one"
        if self.most_connections is not None:
            if self.policy != "growing":
                yield ("most_connections",), f"the policy {self.policy!r} opens no more; write policy: growing"
            elif self.most_connections < self.connections:
                yield ("most_connections",), f"{self.most_connections} is below 'connections', {self.connections}"
        if self.source_addresses and (protocol != "http/1.1" or self.tls is not None):
            yield ("source_addresses",), "only http/1.1 without TLS is sent from chosen addresses; remove them"
        elif self.source_addresses and (self.workers or 1) > 1:
            yield ("source_addresses",), "are of one machine, and 'workers' are several; remove one"
        if protocol != "http/1.1" and self.policy != "fixed":
            yield ("policy",), f"{protocol} keeps its connections; write policy: fixed"
        if self.pipelining > 1 and protocol != "http/1.1":
            yield ("pipelining",), f"only http/1.1 is pipelined, not {protocol}; remove it"
        elif self.pipelining > 1 and self.policy == "new":
            yield ("pipelining",), "the policy 'new' puts one request on a connection; remove it"
        elif self.pipelining > 1 and self.tls is not None:
            yield ("pipelining",), "requests over TLS are not pipelined; remove it"
        if self.streams is not None and protocol in ("http/1.1", "zmq"):
            yield ("streams",), f"{protocol} has one request at a time on a connection; remove it"
        if self.descriptors is not None and protocol != "grpc":
            yield ("descriptors",), f"{protocol} needs none; write protocol: grpc"
        if self.tls is not None and protocol == "zmq":
            yield ("tls",), "messages of zmq are not encrypted; remove it"

    @property
    def own_pace(self) -> bool:
        """Whether the rate is that of a replayed trace."""
        return isinstance(self.arrival, Replay) and self.arrival.speed is not None

    @property
    def kind(self) -> Literal["rates", "capacity", "closed"]:
        """How much load there is: at given rates (a trace's own is one), in a search, or that of clients."""
        return "capacity" if self.capacity is not None else "closed" if self.closed is not None else "rates"

    @property
    def highest_rate(self) -> float | None:
        """The most requests/s that are ever scheduled; None where answers or a trace decide."""
        if self.closed is not None:
            return self.closed.pace
        if self.rates is None:
            return None
        return max(self.rates) * (1.0 if isinstance(self.arrival, str) else self.arrival.peak)

    @property
    def objective(self) -> Slo | None:
        """The SLO, wherever it stands."""
        return self.capacity.slo if self.capacity is not None else self.slo


_NOT_IN_A_CLOSED_LOOP = {
    "arrival": "a client sends when it was answered, not by a schedule",
    "connections": "each client has a connection of its own",
    "abandon": "a client waits until it can send",
    "pipelining": "a client waits for its answer",
    "streams": "a client waits for its answer",
}
