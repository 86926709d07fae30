"""The tasks that services do besides calls and queries, and the parameters of each (``stone/platform/tasks``)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from loadstone.model.base import Model
from loadstone.model.units import FileSize, Pause, format_file_size, format_seconds


class Tasks(Model):
    """Parameters of a service's tasks: in an application file all of them, with defaults; in a study those that
    differ."""

    linpack: Annotated[int | None, Field(ge=0, le=10_000)] = None
    """Order of the dense system of linear equations that is solved, which makes the work equal everywhere; 0 solves
    none. ``stone linpack --target 20ms`` finds the order that takes a time on one machine."""
    sleep: Annotated[Pause | None, Field(le=60)] = None
    """How long the task keeps a CPU busy, by the monotonic clock."""
    large_file: FileSize | None = None
    """A file that is written, then read back, under a new name in each request."""
    small_file: FileSize | None = None
    """A file that is written and read many times, opened anew each time."""
    small_rounds: Annotated[int | None, Field(ge=1, le=10_000)] = None
    """The number of repetitions for the small file."""
    sync: bool | None = None
    """Whether a large file is on the disk before it counts as written."""
    socket: Literal["rep", "router"] | None = None
    """Socket of a service that receives messages of ZeroMQ: ``rep`` handles one at a time, ``router`` those of
    different clients at once."""
    keep: bool | None = None
    """Whether files stay until the stores are reset. Without, each is removed once it has been checked: less disk is
    used, and less is written to it."""

    def given(self) -> dict[str, Any]:
        """The parameters that are there."""
        return {name: value for name, value in self if value is not None}

    def over(self, defaults: Tasks) -> Tasks:
        """These parameters, and of those that are not there the defaults."""
        return defaults.model_copy(update=self.given())

    def variables(self) -> dict[str, str]:
        """What a service of ``stone`` reads them from."""
        return {f"STONE_TASK_{name.upper()}": _variable(name, value) for name, value in self.given().items()}

    def __str__(self) -> str:
        """``linpack=400,sleep=0.05ms``, for labels."""
        return ",".join(f"{name}={_shown(name, value)}" for name, value in self.given().items())


def _variable(name: str, value: Any) -> str:
    if name == "sleep":
        return f"{round(1e9 * value)}ns"
    return str(value).lower()


def _shown(name: str, value: Any) -> str:
    if name == "sleep":
        return format_seconds(value)
    return format_file_size(value) if name.endswith("_file") else str(value).lower()


class _TasksByService(dict[str, Tasks]):
    def __str__(self) -> str:
        """``payment:linpack=400,sleep=0.05ms``, for labels."""
        return " ".join(f"{service}:{tasks}" for service, tasks in self.items())


TasksByService = Annotated[dict[str, Tasks], AfterValidator(_TasksByService)]
"""By service, the parameters that are not the application's."""
