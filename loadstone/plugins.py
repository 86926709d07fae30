"""Finds implementations through Python entry points, so that an outside package adds one without touching ours."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError


def names(layer: str) -> list[str]:
    """The names registered under ``loadstone.<layer>``, sorted."""
    return sorted(entry.name for entry in entry_points(group=f"loadstone.{layer}"))


def find(layer: str, name: str) -> Any:
    """The class registered as ``name`` under ``loadstone.<layer>``; raises InputError naming those there are."""
    for entry in entry_points(group=f"loadstone.{layer}"):
        if entry.name == name:
            return entry.load()
    raise InputError(f"no {name!r} in {layer}" + did_you_mean(name, names(layer)))
