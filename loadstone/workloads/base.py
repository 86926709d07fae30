"""What a load driver must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from loadstone.infrastructure.base import Finding as PreflightFinding
from loadstone.infrastructure.binary import reference_ms
from loadstone.model.base import Finding
from loadstone.model.load import Load
from loadstone.model.records import TrialSummary
from loadstone.model.study import TrialSettings
from loadstone.model.workload import Workload
from loadstone.workloads.members import Member

Progress = Callable[[dict[str, Any]], None]
"""Called about once a second with what the driver says of its run so far."""


def _nothing() -> None:
    """Nobody reads counters."""


@dataclass(frozen=True)
class Offer:
    """The load of one trial: what is sent where, how much of it, for how long and from which cores."""

    targets: tuple[str, ...]
    """``host:port`` of each front end."""
    workload: Workload | Path
    """A mix of operations, or the file of a wrk or wrk2 script."""
    load: Load
    rate: float
    """Requests per second; 0 in a closed loop."""
    clients: int | None
    """Of a closed loop; None where requests are scheduled."""
    warmup_s: float
    duration_s: float
    seed: int
    may_stop: bool
    """Whether the run may end as soon as the SLO is lost."""
    cpus: tuple[int, ...]
    """The cores to run on; all where empty."""
    folder: Path
    """Where the driver's files go; it exists."""
    script_path: str = ""
    """Of the URL that a script is run against: ``/api`` of ``http://host/api``."""
    metrics: str | None = None
    """``host:port`` to serve Prometheus metrics on while it runs."""
    members: tuple[Member, ...] = ()
    """The load workers that generate it together; this process alone where empty."""
    window_begins: Callable[[], None] = _nothing
    """Called when the measured window begins."""
    window_ends: Callable[[], None] = _nothing
    """Called when it ends; not of a run that stops before."""


class DriverError(Exception):
    """The generator itself failed, so the trial says nothing about the system under test."""


class Unreachable(DriverError):
    """Nothing answers at the target."""


class Driver(ABC):
    """Offers load and returns what came back.

    What a driver cannot tell is None in its summary, never a guess.
    """

    name: ClassVar[str]
    expresses: ClassVar[dict[str, frozenset[str]]] = {}
    """What it can really offer, where that is not everything: of ``load`` (``rates``, ``capacity``, ``closed``), of
    ``workload`` (``mix``, ``request``: always the same one, ``script``), of ``slo`` the percentiles that it tells, and
    of any key of ``load`` its levels. A study that asks for more is refused."""
    honours: ClassVar[frozenset[str] | None] = None
    """The keys of ``load`` beyond the common ones that it follows, and ``think``; None is all of them."""

    @classmethod
    def objections(cls, load: Load, trial: TrialSettings) -> Iterator[Finding]:
        """What else of a study it cannot do, at the study's key."""
        yield from ()

    def preflight(self) -> list[PreflightFinding]:
        """What is missing to run it; changes nothing."""
        return []

    @abstractmethod
    def version(self) -> str:
        """The driver's own version, for the provenance."""

    def reference_ms(self) -> float | None:
        """The time of the reference loop on this machine; load workers time it on theirs."""
        return reference_ms()

    @abstractmethod
    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        """Make one run. Never leaves a process behind.

        Raises DriverError when the generator failed, and InputError when it refused what it was given.
        """
