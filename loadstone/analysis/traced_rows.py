"""The rows of the tables that traces come to. They stand outside of ``traces``, which brings a compiler along."""

from __future__ import annotations

from loadstone.analysis.schema import OfTrial, TableRow


class TraceRow(OfTrial):
    """Whose row it is in tables of several trials."""

    verdict: str
    load: float


class OperationTimes(TableRow):
    """Spans by service, operation and peer (empty for what is no call of another), the most time in all first.

    ``total``: from a span's start to its end. ``exclusive``: less the time in which a child of it ran. A span that
    never ended counts with the end that it is taken to have.
    """

    service: str
    operation: str
    peer: str
    count: int
    errors: int
    total_p50_ms: float
    total_p90_ms: float
    total_p99_ms: float
    total_mean_ms: float
    exclusive_p50_ms: float
    exclusive_p99_ms: float
    exclusive_mean_ms: float


class TracedOperation(OperationTimes, TraceRow, name="traces_operations"):
    """Spans of one trial by service, operation and peer."""


class ServiceTimes(TableRow):
    """A service or store, the most critical time first.

    ``spans`` and times are of the spans whose own time is the service's (see ``owners``). ``critical_s``: their
    exclusive time on critical paths, over all traces; ``critical_share`` of all root durations, so shares add up to 1;
    ``per_request_ms``: by trace. ``network_s``: of ``critical_s``, in calls of other services but not in these: on the
    network and in queues. ``waited_s``: the same time by the service that was called, not part of its ``critical_s``.
    """

    service: str
    spans: int
    exclusive_s: float
    critical_s: float
    critical_share: float
    per_request_ms: float
    network_s: float
    waited_s: float


class TracedService(ServiceTimes, TraceRow, name="traces_services"):
    """A service in one trial."""


class HeatCell(TableRow):
    """Root durations by time and length, only cells with any.

    Of roots that started ``from_s`` to ``to_s`` after the first and took ``low_ms`` up to ``high_ms``. Lengths in 20
    steps a decade, from 1 us; the first step is ``low_ms`` 0.
    """

    from_s: float
    to_s: float
    low_ms: float
    high_ms: float
    count: int


class TracedHeat(HeatCell, TraceRow, name="traces_heat"):
    """Root durations of one trial."""


class PathTime(TableRow):
    """A path of steps joined by `` > ``, the most time first.

    ``count``: spans on critical paths. ``critical_s``: their exclusive time there; ``share`` of all traces' durations.
    ``depth``: steps.
    """

    path: str
    count: int
    critical_s: float
    share: float
    depth: int


class TracedPath(PathTime, TraceRow, name="traces_paths"):
    """A path in one trial."""


class ClockOffset(TableRow):
    """How far a host's clock is ahead of the root's host; ``pairs``: the calls used, 0 where there are none."""

    host: str
    offset_ms: float
    pairs: int


class TracedClock(ClockOffset, TraceRow, name="traces_clocks"):
    """A host's clock in one trial."""
