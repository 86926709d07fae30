"""Named store software (memcached, PostgreSQL ...): its version and how it starts."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Model
from loadstone.model.document import Document

STORE_PASSWORD = "{store_password}"
"""Stands for the random password of a deployment's stores in all that is rendered; the password itself is in no file of
a run, and in no argument: every user of a machine can read those."""


STONE = "{stone}"
"""As a program: Loadstone's own binary on whichever machine."""


class SetPassword(Model):
    """A command that gives an initialised ``{data}`` the password of its deployment."""

    command: Annotated[list[str], Field(min_length=1)]
    input: str
    """Standard input of the command; ``{store_password}`` is replaced."""


class AsProcess(Model):
    """How the software starts as a process of this machine.

    Words in braces are replaced: ``{host}``, ``{port}``, ``{ports[name]}`` where it has several, ``{data}`` (the
    replica's own folder), ``{program}`` (the found executable) and ``{folder}`` (where it lies, for tools beside it).
    """

    package: str
    program: Annotated[list[str], Field(min_length=1, description="where to look, in order; globs allowed")]
    build: str | None = None
    """What ``python -m loadstone.infrastructure.builds`` calls it, where it can be built if none is installed."""
    command: Annotated[list[str], Field(min_length=1)]
    initialise: Annotated[list[str], Field(description="fills {data} once; the folder is then copied")] = []
    ready: Annotated[list[str], Field(description="exits 0 once it serves; else its port must accept")] = []
    password: SetPassword | None = None
    files: dict[str, str] = {}
    """Text by file of its data folder, written before it starts; ``{store_password}`` is replaced."""
    environment: dict[str, str] = {}
    """``{store_password}`` is replaced."""
    user: str | None = None
    """The user that runs ``initialise`` and ``password`` when Loadstone is root, for software that refuses root and
    wants an account. The software itself runs as the user of its deployment."""
    stop_signal: Literal["TERM", "INT", "QUIT"] = "TERM"


class Packaged(Model):
    """What an image made from the installed package has beside its program and that program's libraries.

    Its data folder is filled by ``process.initialise``, once, when the image is made.
    """

    files: list[str] = []
    """More files and whole folders, found as ``process.program`` is; ``{folder}`` is where the program lies."""
    entrypoint: bool = False
    """Whether the program is the image's entrypoint, as in the official image, and ``command`` its arguments alone."""
    append: dict[str, str] = {}
    """Text by file of the data folder, added to its end: what the official image's defaults are."""


class AsContainer(Model):
    """How the software starts in a container: of the official image, or of one made from the installed package.

    Both take ``command`` and ``environment``, so an orchestrator does not ask which one it has.
    """

    image: str
    """The official image, by version."""
    command: list[str] = []
    """The arguments of the image's entrypoint (Kubernetes: ``args``); listens on ``port``, everywhere."""
    environment: dict[str, str] = {}
    """``{store_password}`` is replaced, where it is a whole value."""
    url: str | None = None
    """Instead of that of ``StoreSoftware``."""
    data: str | None = None
    """Its data folder. Mount nothing there: in a packaged image it is filled already."""
    ready: list[str] = []
    """In an official image, exits 0 once it serves. A packaged image has ``/stone ready`` for that."""
    packaged: Packaged = Packaged()
    """What else the image that is made from the installed package has."""


class StoreSoftware(Model):
    """Software of others, most of it stores: one entry of ``applications/software.yaml``."""

    version: str
    port: int
    url: str
    """The environment of services that use it; ``{host}`` and ``{port}`` are replaced."""
    documents: bool = False
    in_front: bool = False
    """Whether it is no store, but passes requests on to the front end, where a study has ``proxy``."""
    stack: bool = False
    """Whether it is no store, but watches from beside, where a user requests it by ``stacks``."""
    stands_for: str | None = None
    """The software in whose place it runs where that is not installed. It is not the same, and results name it."""
    process: AsProcess | None = None
    container: AsContainer

    def address(self, host: str, port: int | str, container: bool) -> str:
        """Its URL, as a container or as a process."""
        url = self.container.url if container and self.container.url is not None else self.url
        return url.format(host=host, port=port)

    def has_password(self, container: bool) -> bool:
        """Whether it demands the password of its deployment, as a container or as a process."""
        started = self.container if container else self.process
        return started is not None and STORE_PASSWORD in started.model_dump_json()


class SoftwareCatalogue(Model):
    """All named software."""

    software: dict[str, StoreSoftware]
    replaced: tuple[str, ...] = ()
    """Names of software that is not installed, and in whose place its stand-in runs."""

    def stand_in(self, name: str) -> str | None:
        """The name of the software that stands for another; None where there is none."""
        return next((other for other, software in self.software.items() if software.stands_for == name), None)


@functools.cache
def built_in() -> SoftwareCatalogue:
    """The store software that Loadstone knows: ``applications/software.yaml``."""
    return Document.read(Path(__file__).parents[1] / "applications" / "software.yaml").parse(SoftwareCatalogue)
