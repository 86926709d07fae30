"""What lies between a replica and its machine's kernel."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

from loadstone.model.base import show
from loadstone.model.guest import Accelerator

Name = Literal[
    "bare",
    "container",
    "vm",
    "vm-container",
    "vm (guest given)",
    "vm-container (guest given)",
    "container (given)",
    "vm (emulated)",
    "vm-container (emulated)",
]
"""Those that are *given* were there before: Loadstone runs in them and cannot say what they lie on. *Emulated* are
guests whose processor is software."""
LEVELS = ("bare", "container", "vm", "vm-container")
"""What a study can set."""


def _level(value: Any, info: ValidationInfo) -> Any:
    """What a file has must be a level; other names say what a level is on the machines that there are."""
    if info.context is not None and "file" in info.context and value not in LEVELS:
        raise ValueError(f"{show(value)} is not known here; use 'bare', 'container', 'vm' or 'vm-container'")
    return value


Environment = Annotated[Name, BeforeValidator(_level), WithJsonSchema({"type": "string", "enum": list(LEVELS)})]

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


def in_guest(level: Environment, accelerator: Accelerator) -> Environment:
    """What a process or a container is called in a virtual machine of ours."""
    if level in ("bare", "vm"):
        return "vm" if accelerator == "kvm" else "vm (emulated)"
    return "vm-container" if accelerator == "kvm" else "vm-container (emulated)"


def orchestrator_for(level: Environment | None, workers: int) -> str:
    """The orchestrator of a study that names none: what an environment needs on so many workers, and no more."""
    if level not in CONTAINERS:
        return "process"
    return "compose" if workers == 1 else "swarm"
