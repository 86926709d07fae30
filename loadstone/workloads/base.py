"""The interface of load drivers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from loadstone.infrastructure.base import Finding as PreflightFinding
from loadstone.infrastructure.binary import reference_ms
from loadstone.infrastructure.subprocesses import OutOfTime
from loadstone.model.base import Finding
from loadstone.model.load import Load
from loadstone.model.trial_settings import TrialSettings
from loadstone.model.workload import Workload
from loadstone.workloads.members import LoadWorkerCommand
from loadstone.workloads.waiting import Waiting

if TYPE_CHECKING:
    from loadstone.model.records.summary import TrialSummary

Progress = Callable[[dict[str, Any]], None]
"""Called about once a second with the driver's progress."""


_STARTED_S = 60.0
"""To start, connect and write results on a machine whose cores are all at work."""


def _nothing() -> None:
    """The default callback: no counters are read."""


@dataclass(frozen=True)
class Offer:
    """The load of one trial: targets, requests, rate, duration and the generator's cores."""

    targets: tuple[str, ...]
    """``host:port`` of each front end."""
    workload: Workload | Path
    """A mix of operations, or the path of a wrk or wrk2 script."""
    load: Load
    rate: float
    """Requests per second; 0 in a closed loop."""
    clients: int | None
    """Clients of a closed loop; None in an open loop."""
    warmup_s: float
    duration_s: float
    """The measured window; the longest that it may be where a number of requests ends it."""
    seed: int
    may_stop: bool
    """Whether the run may end as soon as the SLO is violated."""
    cpus: tuple[int, ...]
    """CPUs of the generator; all where empty."""
    folder: Path
    """An existing folder for the driver's files."""
    script_path: str = ""
    """The path of the URL of a script's target: ``/api`` of ``http://host/api``."""
    metrics: str | None = None
    """``host:port`` on which the generator serves Prometheus metrics."""
    members: tuple[LoadWorkerCommand, ...] = ()
    """The load workers that generate it together; this process alone where empty."""
    requests: int | None = None
    """Requests of all clients of a closed loop together that end it; None where their iterations or the time does."""
    warmup_requests: int | None = None
    """Requests of the warm-up: by clients of a closed loop instead of ``warmup_s``; at a rate they make the warm-up
    steady."""
    waiting: Waiting | None = None
    """What all trials of its study wait by; None for a run that is compared with no other."""

    window_begins: Callable[[], None] = _nothing
    """Called when the measured window begins."""
    window_ends: Callable[[], None] = _nothing
    """Called when it ends; never for a run that stops earlier."""

    @property
    def protocol(self) -> str:
        """The protocol of the requests."""
        return (isinstance(self.workload, Workload) and self.workload.protocol) or self.load.protocol


class DriverError(Exception):
    """The generator failed, so the trial is invalid."""


class TargetUnreachable(DriverError):
    """Nothing answers at the target."""


def deadline_s(offer: Offer) -> float:
    """The longest that a generator may run for an offer, in seconds: twice what is planned, and a minute."""
    planned = offer.warmup_s + offer.duration_s + (offer.load.drain or offer.load.timeout)
    return _STARTED_S + 2 * planned


@contextmanager
def in_time() -> Iterator[None]:
    """Turn a generator that was killed at its deadline into a DriverError."""
    try:
        yield
    except OutOfTime as error:
        raise DriverError(str(error)) from None


class Driver(ABC):
    """Offers load and returns a summary of the responses.

    What a driver does not report is None in its summary, never an estimate.
    """

    name: ClassVar[str]
    expresses: ClassVar[dict[str, frozenset[str]]] = {}
    """What the driver supports, where that is not everything: of ``load`` (``rates``, ``capacity``, ``closed``), of
    ``workload`` (``mix``, ``request``: the same request always, ``script``), of ``slo`` the percentiles it reports,
    and of any key of ``load`` its levels. A study that needs more fails at ``validate``."""
    honours: ClassVar[frozenset[str] | None] = None
    """The optional keys of ``load`` and of its closed loop (``think``, ``pace``, ``requests``, ``iterations``) that it
    supports, and numbers of requests in ``trial``; None is all of them."""

    @classmethod
    def objections(cls, load: Load, trial: TrialSettings) -> Iterator[Finding]:
        """Other settings of a study that it does not support, each at its key."""
        yield from ()

    def preflight(self) -> list[PreflightFinding]:
        """Checks that the driver can run; changes nothing."""
        return []

    @abstractmethod
    def version(self) -> str:
        """The driver's own version, for the provenance."""

    def reference_ms(self) -> float | None:
        """The time of the reference loop on this machine; load workers time it on theirs."""
        return reference_ms()

    @abstractmethod
    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        """Run the offer once. Leaves no process behind.

        Raises DriverError when the generator failed, and InputError when it rejected the offer.
        """
