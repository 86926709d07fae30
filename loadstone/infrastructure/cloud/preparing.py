"""Machines that were just made are prepared by the roles of ``loadstone prepare``: nothing else uses them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.base import Say
from loadstone.infrastructure.preparation.hosts import roles_settings
from loadstone.infrastructure.preparation.troubles import Trouble
from loadstone.model.document import Document
from loadstone.model.inventory import Inventory

_CLOCK_WITHIN_S = 300
"""Chrony's figures forget the first offset of a clock that was never set only within minutes."""


def prepare(
    inventory: Path, software: Sequence[str], entry_ports: Sequence[int], clock_bound_s: float, say: Say
) -> list[Trouble]:
    """Prepare all side by side; returns why machines could not be, one of each."""
    from loadstone.infrastructure.preparation.playing import play  # a slow import that plans do not need

    machines = Document.read(inventory).parse(Inventory)
    settings = {
        **roles_settings(software, entry_ports, machines),
        "clock_bound_us": clock_bound_s * 1e6,
        "clock_within_s": _CLOCK_WITHIN_S,
    }
    preparing = f"preparing {len(machines.hosts)} machines"
    begun: set[str] = set()

    def progress(_host: str, task: str, _changed: bool) -> None:
        if task not in begun:
            begun.add(task)
            say(f"{preparing}: {task}")

    say(f"{preparing} for {', '.join(software)}")
    outcomes = play("prepare", machines, settings, False, progress)
    return [outcome.trouble for outcome in outcomes.values() if outcome.trouble]
