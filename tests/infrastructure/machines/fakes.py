"""The way to a fake node."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.machines import Transport
from tests.infrastructure.machines import fake_node


class FakeTransport(Transport):
    """Leads to the fake node."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    def command(self, argv: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", fake_node.__name__, self.fault]

    def deliver(self, program: Path) -> str:
        return "/there/stone"
