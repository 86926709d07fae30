"""The service-level objective: latency percentiles with their limits, and the share that must complete."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, model_serializer, model_validator

from loadstone.model.units import format_seconds, seconds, share


class Slo(BaseModel):
    """``{p99: 200ms, completed: 99%}``: latency from the intended send time, in milliseconds by percentile."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"examples": [{"p99": "200ms", "completed": "99%"}]},
    )

    limits: dict[float, float]
    completed: float = 0.99

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "limits" in data:
            return data
        limits: dict[float, float] = {}
        completed = 0.99
        for key, value in data.items():
            if key == "completed":
                completed = share(value)
            elif match := re.fullmatch(r"p(\d{1,2}|99\d+)", str(key)):
                digits = match.group(1)
                percentile = float(digits if len(digits) < 3 else f"{digits[:2]}.{digits[2:]}")
                if not 0 < percentile < 100:
                    raise ValueError(f"{key!r} is not a percentile between p1 and p99999")
                limit = seconds(value) * 1000
                if limit <= 0:
                    raise ValueError(f"{key}: {value!r} must be more than zero")
                limits[percentile] = limit
            else:
                raise ValueError(f"unknown key {str(key)!r}; use percentiles (p50, p99, p999) and 'completed'")
        if not limits:
            raise ValueError("an SLO needs a latency percentile, for example p99: 200ms")
        return {"limits": limits, "completed": completed}

    @model_serializer
    def _as_written(self) -> dict[str, str]:
        keys = {p: f"p{p:g}".replace(".", "") for p in self.limits}
        limits = {keys[p]: format_seconds(limit / 1000) for p, limit in self.limits.items()}
        return {**limits, "completed": f"{self.completed * 100:g}%"}

    @property
    def strictest(self) -> tuple[float, float]:
        """The highest percentile and its limit in ms: what a trial's violations are counted against."""
        percentile = max(self.limits)
        return percentile, self.limits[percentile]

    def __str__(self) -> str:
        parts = [f"P{p:g} <= {format_seconds(limit / 1000)}" for p, limit in sorted(self.limits.items())]
        return ", ".join([*parts, f"{self.completed * 100:g} % completed"])
