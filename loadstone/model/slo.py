"""The service-level objective: latency percentiles with their limits, and the share that must complete."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, model_serializer, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from loadstone.model.units import format_seconds, format_share, positive, seconds, share

_PERCENTILE = r"p([1-9]\d?|99\d{1,3})"
_JSON_SCHEMA: dict[str, Any] = {
    "properties": {"completed": {"type": "string", "pattern": r"^[0-9.]+\s*%$", "default": "99%"}},
    "patternProperties": {f"^{_PERCENTILE}$": {"type": "string", "pattern": r"^[0-9.]+\s*(us|ms|s|m|h)$"}},
    "additionalProperties": False,
    "examples": [{"p99": "200ms", "completed": "99%"}],
}


def _as_in_files(generated: dict[str, Any]) -> None:
    """Replace the schema of the fields by that of the keys as a file has them."""
    generated.pop("required", None)
    generated.update(_JSON_SCHEMA)


class Slo(BaseModel):
    """``{p99: 200ms, completed: 99%}``: latency from the intended send time, in milliseconds by percentile.

    Percentiles are ``p1`` to ``p99``, and ``p999`` (99.9), ``p9999``, ``p99999``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_as_in_files)

    limits: dict[float, float]
    completed: float = 0.99

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, data: Any, info: ValidationInfo) -> Any:
        from_file = info.context is not None and "file" in info.context
        if not isinstance(data, dict) or ("limits" in data and not from_file):
            return data
        limits: dict[float, float] = {}
        completed = 0.99
        wrong: list[InitErrorDetails] = []
        for key, value in data.items():
            try:
                if key == "completed":
                    completed = positive(share(value), value)
                else:
                    percentile = _percentile(str(key))
                    if percentile in limits:
                        raise ValueError(f"{key!r} is the percentile {percentile:g} again; give it once")
                    limits[percentile] = positive(seconds(value), value) * 1000
            except ValueError as error:
                # A message is no template: pydantic would read braces in it as fields.
                text = PydanticCustomError("value_error", "{error}", {"error": str(error)})
                wrong.append(InitErrorDetails(type=text, loc=(key,), input=value))
        if wrong:
            raise ValidationError.from_exception_data(cls.__name__, wrong)
        if not limits:
            raise ValueError("an SLO needs a latency percentile, for example p99: 200ms")
        return {"limits": limits, "completed": completed}

    @model_serializer
    def _as_written(self) -> dict[str, str]:
        limits = {key_of(p): format_seconds(limit / 1000) for p, limit in self.limits.items()}
        return {**limits, "completed": format_share(self.completed)}

    @property
    def strictest(self) -> tuple[float, float]:
        """The highest percentile and its limit in ms: what a trial's violations are counted against."""
        percentile = max(self.limits)
        return percentile, self.limits[percentile]

    def __str__(self) -> str:
        parts = [f"P{p:g} <= {format_seconds(limit / 1000)}" for p, limit in sorted(self.limits.items())]
        return ", ".join([*parts, f"{self.completed * 100:g} % completed"])


def key_of(percentile: float) -> str:
    """``p999`` for 99.9."""
    return f"p{percentile:g}".replace(".", "")


def _percentile(key: str) -> float:
    match = re.fullmatch(_PERCENTILE, key)
    if match is None:
        if dotted := re.fullmatch(r"p?99[._](\d{1,3})", key):
            nines = dotted.group(1)
            raise ValueError(f"unknown key {key!r}; write p99{nines} for the percentile 99.{nines}")
        raise ValueError(f"unknown key {key!r}; use percentiles (p50, p99, p999 for 99.9) and 'completed'")
    digits = match.group(1)
    return float(digits if len(digits) < 3 else f"{digits[:2]}.{digits[2:]}")
