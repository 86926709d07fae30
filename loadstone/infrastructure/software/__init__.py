"""Software of clusters: what an orchestrator talks to, started on machines or found in what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadstone import plugins

if TYPE_CHECKING:
    from loadstone.infrastructure.software.base import Software


def load_software(name: str) -> Software:
    """Loaded when it is wanted: each brings a client library along."""
    kind: type[Software] = plugins.find("software", name)
    return kind()
