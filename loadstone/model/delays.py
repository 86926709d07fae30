"""Known delays: what shows whether a set-up can see such a difference, and where."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from loadstone.model.units import Duration, format_seconds


class _DelaysByService(dict[str, float]):
    def __str__(self) -> str:
        """``search:5ms``, for labels."""
        return ",".join(f"{service}:{format_seconds(delay)}" for service, delay in self.items())


Delays = Annotated[dict[str, Duration], AfterValidator(_DelaysByService)]
"""Seconds by service, added to each request of it."""
