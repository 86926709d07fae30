"""What lies between a replica and its machine's kernel."""

from __future__ import annotations

from typing import Literal

Environment = Literal[
    "bare", "container", "vm", "vm-container", "vm (guest given)", "vm-container (guest given)", "container (given)"
]
"""Those that are *given* were there before: Loadstone runs in them and cannot say what they lie on."""

CONTAINERS = frozenset({"container", "vm-container"})
GUESTS = frozenset({"vm", "vm-container"})
"""Need virtual machines."""

_IN_GIVEN_GUESTS: dict[Environment, Environment] = {
    "bare": "vm (guest given)",
    "vm": "vm (guest given)",
    "container": "vm-container (guest given)",
    "vm-container": "vm-container (guest given)",
}


def in_given_guest(level: Environment) -> Environment:
    """What a level is on machines that are virtual already."""
    return _IN_GIVEN_GUESTS.get(level, level)


def orchestrator_for(level: Environment | None, workers: int) -> str:
    """The orchestrator of a study that names none: what an environment needs on so many workers, and no more."""
    if level not in CONTAINERS:
        return "process"
    return "compose" if workers == 1 else "swarm"
