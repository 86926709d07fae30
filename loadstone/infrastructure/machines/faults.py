"""What can go wrong between the desk and a machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from loadstone.model.errors import DeploymentError

if TYPE_CHECKING:
    from loadstone.model.records.node.frames import Fault


class NodeError(DeploymentError):
    """A machine's node answered with an error."""

    def __init__(self, machine: str, fault: Fault) -> None:
        super().__init__(f"{machine}: {fault.message}", fault.remedy)
        self.kind = fault.kind
        self.reason = fault.message
        self.owner = fault.owner


class MachineLost(DeploymentError):
    """A machine cannot be reached, or its node has ended or does not answer."""


class Attempts:
    """To reach a machine. One that was waited for in vain is not tried again for as long as that took: else each of
    several verbs would wait anew."""

    def __init__(self) -> None:
        self._lost = MachineLost("")
        self._again_at = 0.0

    @contextmanager
    def next(self) -> Iterator[None]:
        """Raises MachineLost as the last attempt did while it is too early for another one."""
        started = time.monotonic()
        if started < self._again_at:
            raise MachineLost(self._lost.message, self._lost.remedy)
        try:
            yield
        except MachineLost as error:
            now = time.monotonic()
            self._lost, self._again_at = error, now + (now - started)
            raise
