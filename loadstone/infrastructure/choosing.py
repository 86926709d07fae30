"""Chooses an infrastructure where the user has named none."""

from __future__ import annotations

from collections.abc import Callable

from loadstone import plugins
from loadstone.infrastructure.base import Infrastructure
from loadstone.model.cluster import Cluster


def first_infrastructure(software: str, suits: Callable[[type[Infrastructure]], bool]) -> str:
    """The name of the first infrastructure that has the software and suits; the usual one before all others, and where
    none does."""
    usual = Cluster().infrastructure
    kinds = [plugins.find("infrastructure", name) for name in (usual, *plugins.names("infrastructure"))]
    return next((kind.name for kind in kinds if software in kind.software and suits(kind)), usual)
