"""The files in a trial's folder, as far as the analysis reads them; one that does not have its shape is damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from loadstone.analysis.observed import Observed


class Counts(TypedDict):
    """Of an operation, in the measured window; null is what the driver does not tell."""

    offered: int | None
    completed: int | None


class Latency(TypedDict):
    """Milliseconds; they mean nothing where ``count`` is 0."""

    count: int
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
    violations: NotRequired[int | None]
    latency_ms: Latencies


class Summary(TypedDict):
    """``summary.json``. ``spectrum``: percentile, latency, service time."""

    spectrum: list[tuple[float, float | None, float | None]]
    operations: list[Operation]


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

    service: str
    tier: str
    window_s: float
    cpu_s: float
    cpu_limit: NotRequired[float | None]
    throttled_s: NotRequired[float | None]
    memory_peak: NotRequired[int | None]
    memory_limit: NotRequired[int | None]


_SHAPES: dict[str, TypeAdapter[Any]] = {
    "summary.json": TypeAdapter(Summary),
    "audit.json": TypeAdapter(list[Limit]),
    "checks.json": TypeAdapter(list[Check]),
    "usage.json": TypeAdapter(list[Use]),
    "observed.json": TypeAdapter(Observed),
}


def read(folder: Path, name: str) -> tuple[Any, str]:
    """The content of a trial's file, or None and what is wrong with it; a file that is not there is not wrong."""
    try:
        return _SHAPES[name].validate_python(json.loads((folder / name).read_text(encoding="utf-8"))), ""
    except FileNotFoundError:
        return None, ""
    except ValidationError as error:
        first = error.errors()[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (OSError, ValueError) as error:
        return None, str(error)


def problems(folder: Path, measured: bool) -> list[str]:
    """What is wrong with the files of one trial; one that measured something must have a summary."""
    if measured and not (folder / "summary.json").exists():
        return ["summary.json is missing"]
    return [f"{name} ({problem})" for name in _SHAPES if (problem := read(folder, name)[1])]
