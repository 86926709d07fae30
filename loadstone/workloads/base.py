"""What a load driver must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from loadstone.model.study import Load
from loadstone.model.trial import Trial
from loadstone.model.workload import Workload

Progress = Callable[[dict[str, Any]], None]
"""Called about once a second with what the driver says of its run so far."""


class DriverError(Exception):
    """The generator itself failed, so the trial says nothing about the system under test."""


class Driver(ABC):
    """Offers load and returns what came back, as the summary of docs/reference/summary.md."""

    name: ClassVar[str]

    @abstractmethod
    def version(self) -> str:
        """The driver's own version, for the provenance."""

    @abstractmethod
    def run(
        self,
        trial: Trial,
        workload: Workload,
        load: Load,
        targets: list[str],
        cpus: tuple[int, ...],
        folder: Path,
        progress: Progress,
    ) -> dict[str, Any]:
        """Run one trial against the front ends ``targets`` (host:port) from the cores ``cpus``; files go to ``folder``.

        Raises DriverError when the generator failed. Never leaves a process behind.
        """
