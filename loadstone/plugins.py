"""Finds implementations through Python entry points, so that an outside package adds one without touching ours."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any

from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError


@cache
def _installed() -> Any:
    """Those of all installed packages, whose files are read once."""
    return entry_points()


@cache
def _registered(layer: str) -> EntryPoints:
    found: EntryPoints = _installed().select(group=f"loadstone.{layer}")
    return found


def names(layer: str) -> list[str]:
    """The names registered under ``loadstone.<layer>``, sorted."""
    return sorted(entry.name for entry in _registered(layer))


def find(layer: str, name: str) -> Any:
    """The class registered as ``name`` under ``loadstone.<layer>``; raises InputError naming those there are."""
    for entry in _registered(layer):
        if entry.name == name:
            return entry.load()
    raise InputError(f"no {name!r} in {layer}" + did_you_mean(name, names(layer)))
