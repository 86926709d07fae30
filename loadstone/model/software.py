"""Named store software (memcached, PostgreSQL ...): its version and how it starts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Model


class AsProcess(Model):
    """How the software starts as a process of this machine.

    Words in braces are replaced: ``{host}``, ``{port}``, ``{data}`` (the replica's own folder), ``{program}`` (the
    found executable) and ``{folder}`` (where it lies, for tools beside it).
    """

    package: str
    program: Annotated[list[str], Field(min_length=1, description="where to look, in order; globs allowed")]
    command: Annotated[list[str], Field(min_length=1)]
    initialise: Annotated[list[str], Field(description="fills {data} once; the folder is then copied")] = []
    ready: Annotated[list[str], Field(description="exits 0 once it serves; else its port must accept")] = []
    user: str | None = None
    """Who runs it when Loadstone is root, for software that refuses to run as root."""
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
