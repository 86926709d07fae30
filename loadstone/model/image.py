"""References of container images, as users write them: ``nginx:1.25``, ``registry.example.org:5000/team/web:2``."""

from __future__ import annotations

from typing import Annotated

from loadstone.model.base import Matches

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))(?::[0-9]+)?"

Image = Annotated[
    str,
    Matches(
        rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?",
        "an image reference, for example nginx:1.25",
    ),
]
"""The grammar is that of the distribution specification."""


def whole(reference: str) -> str:
    """With the tag that engines take where neither tag nor digest is given: ``redis`` is ``redis:latest``."""
    named = "@" in reference or ":" in reference.rpartition("/")[2]
    return reference if named else f"{reference}:latest"


def repeatable(reference: str) -> bool:
    """Whether the reference is pinned to one image, by its form."""
    return "@" in reference or not whole(reference).endswith(":latest")
