"""Emulated hosts that run nothing: replicas are processes on them."""

from __future__ import annotations

from loadstone.infrastructure.base import Access, Finding, Say
from loadstone.infrastructure.namespaces.host import Host


def preflight() -> list[Finding]:
    """Nothing is missing."""
    return []


def start(hosts: list[Host], managers: list[Host], workers: list[Host], say: Say, registry: str = "") -> Access:
    """Nothing is started."""
    del hosts, managers, workers, say, registry
    return Access("process")
