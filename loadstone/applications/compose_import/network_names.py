"""Warns of names by which containers reach each other in compose and not here, with the services that use them."""

from __future__ import annotations

from loadstone.applications.compose_import import guessing
from loadstone.applications.compose_import.reading import ComposeDocument
from loadstone.applications.compose_import.services import Converted


def note_names(document: ComposeDocument, services: dict[str, Converted], names: dict[str, str]) -> None:
    """Note names besides those of the services themselves, with where another service speaks of one."""
    for name, service in services.items():
        if names[name] != name:
            text = f"is called {names[name]!r} here: names have lower-case letters, digits and '-'"
            document.note(("services", name), text + _remedy(name, name, services, names))
        for alias, where in service.aliases.items():
            if alias not in services:
                text = "not carried: others reach a container by the name of its service alone"
                document.note(where, text + _remedy(alias, name, services, names))


def _remedy(word: str, name: str, services: dict[str, Converted], names: dict[str, str]) -> str:
    users = [
        f"{other} ({key})"
        for other, service in services.items()
        for key, text in service.texts().items()
        if other != name and guessing.mentions(word, [text])
    ]
    return f"; write {names[name]!r} for {word!r} in {', '.join(users)}" if users else ""
