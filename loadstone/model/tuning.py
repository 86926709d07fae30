"""Knobs of a host that a study sets while it runs, and that are as before when it ends."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from loadstone.model.base import Matches, Model
from loadstone.model.units import Frequency, Pause, format_frequency, format_seconds


def _word(value: Any) -> Any:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


Switch = Annotated[Literal["on", "off"], BeforeValidator(_word)]
"""``on`` or ``off``; a value of another language's YAML, true or false, means the same."""


class Bounds(Model):
    """A range of frequencies; one that is given as a single frequency has it as both ends."""

    min: Frequency | None = None
    """The lowest frequency."""
    max: Frequency | None = None
    """The highest frequency."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("is empty; write one frequency, or {min: 1.2GHz, max: 2.2GHz}")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {format_frequency(self.min)} is above max {format_frequency(self.max)}")
        return self

    def __str__(self) -> str:
        """``2.2GHz``, ``1GHz-2.2GHz``, ``-2.2GHz``, for labels."""
        low, high = ("" if end is None else format_frequency(end) for end in (self.min, self.max))
        return low if low == high else f"{low}-{high}"


class IdleStates(Model):
    """The C-states that may be entered, by name or by how long waking up from them takes. A list is that of names."""

    names: Annotated[list[str] | None, Field(min_length=1)] = None
    """As the kernel names them: ``[POLL, C1]``."""
    latency: Pause | None = None
    """The longest exit latency."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.names is None) == (self.latency is None):
            raise ValueError("give either the names of states, [POLL, C1], or {latency: 10us}")
        return self

    def __str__(self) -> str:
        """``POLL+C1`` or ``10us``, for labels."""
        return "+".join(self.names) if self.names is not None else format_seconds(self.latency or 0)


def _bounds(value: Any) -> Any:
    return {"min": value, "max": value} if isinstance(value, str | int | float) else value


def _names(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError(f"{value!r} is no list of states; write [{value}], or {{latency: 10us}}")
    return {"names": value} if isinstance(value, list) else value


Range = Annotated[Bounds, BeforeValidator(_bounds, json_schema_input_type=Bounds | Frequency)]


class Tuning(Model):
    """Kernel settings of a treatment's hosts; keys that are left out are not changed. All are restored afterwards."""

    governor: Annotated[str | None, Matches(r"[a-z_]+", "the kernel's name of a governor: performance")] = None
    """What chooses the cores' frequency: ``performance``, ``powersave``, ``schedutil`` ..."""
    frequency: Range | None = None
    """The cores' frequency: ``2.2GHz``, or ``{min: 1.2GHz, max: 2.2GHz}``."""
    turbo: Switch | None = None
    """Whether cores may be faster than their base frequency while others idle."""
    smt: Switch | None = None
    """Whether a core is two hardware threads."""
    cstates: Annotated[
        IdleStates | None, BeforeValidator(_names, json_schema_input_type=IdleStates | list[str] | None)
    ] = None
    """The idle states that may be entered, ``[POLL, C1]`` or ``{latency: 10us}``; all others are disabled."""
    uncore: Range | None = None
    """The frequency of an Intel processor's caches and memory controller: ``2GHz``, or its bounds."""
    swap: Switch | None = None
    """``off`` takes the devices in ``/proc/swaps`` out of use."""
    thp: Literal["always", "madvise", "never"] | None = None
    """Transparent huge pages."""
    numa_balancing: Switch | None = None
    """Whether the kernel moves memory to the node that uses it."""
    irqs: Annotated[list[Annotated[int, Field(ge=0)]] | None, Field(min_length=1)] = None
    """The only cores that interrupts may go to; those that the kernel does not let go stay where they are."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("sets nothing; name a knob, {governor: performance}, or write off")
        return self

    def __str__(self) -> str:
        """``governor:performance,turbo:off,cstates:POLL+C1``, for labels."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return ",".join(f"{name}:{_label(value)}" for name, value in given.items() if value is not None)


def _label(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)
