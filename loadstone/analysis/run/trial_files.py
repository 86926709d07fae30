"""The files in a trial's folder, as far as the analysis reads them; one that does not have its shape is damaged."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from loadstone.analysis.observed import Observed, Whole


class Counts(TypedDict):
    """Of an operation, in the measured window; null is what the driver does not tell."""

    offered: Whole | None
    completed: Whole | None


class Latency(TypedDict):
    """Milliseconds; they mean nothing where ``count`` is 0."""

    count: Whole
    p50: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    max: float | None


class Latencies(TypedDict):
    """From the intended and from the actual send time; null is what the driver does not tell."""

    intended: Latency | None
    service: Latency | None


class Operation(TypedDict):
    """One operation of ``summary.json``."""

    name: str
    counts: Counts
    violations: NotRequired[Whole | None]
    latency_ms: Latencies


class Series(TypedDict):
    """The mean latency of every ``step_s`` of the window; null where nothing was scheduled in it."""

    step_s: float
    mean_ms: list[float | None]


class Batch(TypedDict):
    """One of the parts of the window; the backlog is that at its end."""

    start_s: float
    offered: Whole
    completed: Whole
    backlog: Whole


class Failure(TypedDict):
    """Requests that failed in the same way."""

    kind: str
    operation: NotRequired[str | None]
    count: Whole


class LoadWorker(TypedDict):
    """What one of several generating hosts did; earlier releases had its ``address`` and less of it."""

    number: Whole
    name: NotRequired[str]
    address: NotRequired[str]
    sent: Whole
    completed: NotRequired[Whole]
    own_lateness_p99_ms: NotRequired[float]
    connects: NotRequired[Whole]
    cpu_s: NotRequired[float]
    cpu_share: float
    clock_offset_us: float | None
    clock_error_us: float | None
    reference_before_ms: NotRequired[float | None]
    reference_after_ms: NotRequired[float | None]


class Generator(TypedDict):
    """What the load generator used, as far as it is read from here."""

    workers: NotRequired[list[LoadWorker] | None]


class Summary(TypedDict):
    """``summary.json``. ``spectrum``: percentile, latency, service time."""

    schema: NotRequired[Literal[1]]
    spectrum: list[tuple[float, float | None, float | None]]
    operations: list[Operation]
    series: NotRequired[Series | None]
    batches: NotRequired[list[Batch] | None]
    errors: NotRequired[list[Failure] | None]
    generator: NotRequired[Generator]


class Limit(TypedDict):
    """A row of ``audit.json``."""

    replica: str
    node: str
    what: str
    wanted: str
    effective: str
    ok: bool
    waived: NotRequired[str]


class Check(TypedDict):
    """A row of ``checks.json``."""

    ok: bool
    message: str


class Use(TypedDict):
    """A row of ``usage.json``: one replica in the measured window; null where there is no limit or no counter."""

    replica: NotRequired[str]
    service: str
    tier: str
    node: NotRequired[str]
    window_s: float
    from_ns: NotRequired[Whole]
    to_ns: NotRequired[Whole]
    cpu_s: float
    cpu_limit: NotRequired[float | None]
    periods: NotRequired[Whole | None]
    throttled_periods: NotRequired[Whole | None]
    throttled_s: NotRequired[float | None]
    memory_peak: NotRequired[Whole | None]
    memory_limit: NotRequired[Whole | None]


_SHAPES: dict[str, TypeAdapter[Any]] = {
    "summary.json": TypeAdapter(Summary),
    "audit.json": TypeAdapter(list[Limit]),
    "checks.json": TypeAdapter(list[Check]),
    "usage.json": TypeAdapter(list[Use]),
    "observed.json": TypeAdapter(Observed),
}


_KEPT = 8192
"""Files that are kept as they were read: several parts of a report look into each."""


def read(folder: Path, name: str) -> tuple[Any, str]:
    """The content of a trial's file, or None and what is wrong with it; a file that is not there is not wrong.

    It is read and checked once for as long as it stays as it is: the content is shared and not to be changed.
    """
    file = folder / name
    try:
        stat = file.stat()
        return _read(str(file), name, stat.st_mtime_ns, stat.st_size)
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError) as error:
        return None, str(error)


@lru_cache(maxsize=_KEPT)
def _read(file: str, name: str, changed_ns: int, size: int) -> tuple[Any, str]:
    """``changed_ns`` and ``size`` tell a file that was replaced from what was kept of it."""
    try:
        return _SHAPES[name].validate_json(Path(file).read_bytes()), ""
    except ValidationError as error:
        return None, _problem(error)
    except OSError as error:
        return None, str(error)


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if place == "schema":
        return f"schema {first['input']!r} is not of this version of Loadstone, which knows {first['ctx']['expected']}"
    return f"{place}: {first['msg']}" if place else first["msg"]


def problems(folder: Path, measured: bool) -> list[str]:
    """What is wrong with the files of one trial; one that measured something must have a summary."""
    if measured and not (folder / "summary.json").exists():
        return ["summary.json is missing"]
    return [f"{name} ({problem})" for name in _SHAPES if (problem := read(folder, name)[1])]
