"""Named store software (memcached, PostgreSQL ...): its version and how it starts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Model


class AsProcess(Model):
    """How the software starts as a process of this machine.

    Words in braces are replaced: ``{port}``, ``{data}`` (the replica's own folder), ``{memory_mb}`` and
    ``{program}`` (the found executable).
    """

    package: str
    program: Annotated[list[str], Field(min_length=1, description="where to look, in order; globs allowed")]
    command: Annotated[list[str], Field(min_length=1)]
    initialise: Annotated[list[str], Field(description="fills {data} once; the folder is then copied")] = []
    user: str | None = None
    stop_signal: Literal["TERM", "INT", "QUIT"] = "TERM"


class AsContainer(Model):
    """The official image, by version, and its arguments."""

    image: str
    command: list[str] = []
    environment: dict[str, str] = {}
    data: str | None = None


class Software(Model):
    """A store as software: one entry of ``applications/software.yaml``."""

    version: str
    port: int
    url: str
    """How a service is told of it; ``{host}`` and ``{port}`` are replaced."""
    documents: bool = False
    process: AsProcess | None = None
    container: AsContainer


class SoftwareCatalogue(Model):
    """All named software."""

    software: dict[str, Software]
