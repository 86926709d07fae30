"""The rows of the capacity model's tables."""

from __future__ import annotations

from loadstone.analysis.schema import TableRow


class DemandRow(TableRow, name="demands"):
    """A service at the breaking point, from the fit: CPU per request with its 95 % interval, cores of all replicas.

    ``limit_cores`` is that of one replica, and ``share`` what requests would use of it at this cost; None where that is
    more than there is, for then the fit does not describe that load. ``loads``: how many the fit is from.
    """

    treatment: str
    service: str
    tier: str | None
    replicas: int
    cpu_ms: float
    cpu_ms_low: float
    cpu_ms_high: float
    cores: float | None
    limit_cores: float | None
    share: float | None
    loads: int


class DemandPoint(TableRow, name="demand_curves"):
    """CPU per request at a load: of a trial, or of the fitted curve with its band."""

    treatment: str
    service: str
    load: float
    cpu_ms: float
    low: float | None = None
    high: float | None = None
    trial_id: str | None = None
