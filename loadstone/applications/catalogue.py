"""The built-in applications and store software, and the user's own ``application.yaml`` or compose file."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadstone.applications import stone_services, workload_files
from loadstone.infrastructure import programs
from loadstone.model import address, image
from loadstone.model.application import Application
from loadstone.model.base import Finding, did_you_mean
from loadstone.model.document import Document
from loadstone.model.errors import InputError, Problem
from loadstone.model.software import AsProcess, SoftwareCatalogue, built_in

_HERE = Path(__file__).parent
_FILE = "application.yaml"
_PLACES = {"data": {"folder"}}
"""What is another on each machine."""


@dataclass(frozen=True)
class LoadedApplication:
    """An application with its source document; ``digest`` depends on the content, not on the formatting."""

    application: Application
    document: Document
    digest: str

    @property
    def imported(self) -> bool:
        """Whether it was a compose file."""
        return type(self.document) is not Document

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What of a compose file is not carried, what is guessed, and what cannot be repeated, by lines."""
        notes: list[Problem] = getattr(self.document, "notes", [])
        changing = [
            self.document.problem(
                ("services", name, "runs", "image"),
                f"{image.whole(service.runs.image)} may be another image tomorrow; give a version or a digest",
            )
            for name, service in self.application.services.items()
            if service.runs.image is not None and not image.repeatable(service.runs.image)
        ]
        return tuple(sorted([*notes, *changing], key=lambda note: note.line))


def names() -> list[str]:
    """The built-in applications."""
    return sorted(file.parent.name for file in _HERE.glob(f"*/{_FILE}"))


def load(name_or_path: str) -> LoadedApplication:
    """A built-in application by name, or the one in a file, or in a folder; a compose file is imported. Of a URL it is
    the server there, whose only workload requests the path.

    Raises InputError naming file and line of everything that is wrong.
    """
    document = _at(name_or_path) if address.is_url(name_or_path) else _read(_find(name_or_path))
    application = document.parse(Application)
    document.check(_unknown_software(application))
    document.check(_unknown_services(application))
    document.check(workload_files.findings(application))
    document.check(_no_folder(application))
    canonical = json.dumps(application.model_dump(mode="json", by_alias=True, exclude=_PLACES), sort_keys=True)
    canonical_text = workload_files.anywhere(canonical, application)
    return LoadedApplication(application, document, hashlib.sha256(canonical_text.encode()).hexdigest()[:12])


def software() -> SoftwareCatalogue:
    """The store software that services can run."""
    return built_in()


def replaced(application: Application) -> list[str]:
    """The store software of an application that is not installed on this machine and has a stand-in."""
    known = software()
    named = dict.fromkeys(service.runs.software for service in application.services.values() if service.runs.software)
    return [name for name in named if known.stand_in(name) and not _installed(known.software[name].process)]


def _installed(process: AsProcess | None) -> bool:
    return process is not None and programs.find(process) is not None


def _at(text: str) -> Document:
    """The application file of a server that is deployed already."""
    try:
        url = address.parsed(text)
    except ValueError as error:
        raise InputError(str(error)) from None
    name, path = _service_name(url.hostname or ""), address.path(url)
    operation = {address.operation_name(path): {"path": path}}
    application = {
        "name": name,
        "entry": {"service": name, "port": "http"},
        "services": {
            name: {
                "tier": "frontend",
                "runs": {"url": f"{url.scheme}://{url.netloc}"},
                "ports": {"http": address.port(url)},
            }
        },
        "workloads": {"get": {"operations": operation}},
        "default_workload": "get",
    }
    return Document.of(application, text)


def _service_name(host: str) -> str:
    """``example-org`` of ``example.org``; of an IP address, which has no name, ``server``."""
    name = re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-")[:63].strip("-")
    return "server" if address.is_ip(host) or not re.match("[a-z]", name) else name


def _find(name_or_path: str) -> list[Path]:
    """The files of an application: one, or several compose files as ``a.yml:b.yml`` names them."""
    built_in = _HERE / name_or_path / _FILE
    if not name_or_path:  # as a path it would be this folder
        raise InputError(f"no application {name_or_path!r}" + did_you_mean(name_or_path, names()))
    if name_or_path in names():
        return [built_in]
    path = Path(name_or_path)
    if os.path.isdir(path):  # unlike Path's, it also answers for what cannot be looked at
        return _in_folder(path)
    if "://" in name_or_path:
        raise InputError(f"{name_or_path!r} is not an address; write it like http://127.0.0.1:8080")
    if not os.path.exists(path) and address.lacks_scheme(name_or_path):
        raise InputError(f"{name_or_path!r} has no scheme; write http://{name_or_path}")
    if not os.path.exists(path) and ":" in name_or_path:
        first, *others = map(Path, name_or_path.split(":"))
        return [first, *(first.parent / other for other in others)]
    if os.path.exists(path) or "/" in name_or_path or path.suffix in (".yaml", ".yml"):
        return [path]
    raise InputError(f"no application {name_or_path!r}" + did_you_mean(name_or_path, names()))


def _in_folder(folder: Path) -> list[Path]:
    """The application file of a folder, else the compose files that compose itself would read there."""
    from loadstone.applications import compose_import

    if (folder / _FILE).is_file():
        return [folder / _FILE]
    found = [
        next((folder / name for name in names if (folder / name).is_file()), None)
        for names in (compose_import.FILES, compose_import.OVERRIDES)
    ]
    if not found[0]:
        raise InputError(f"{folder}: is a folder without {_FILE} or a compose file; give the path of a file")
    return [file for file in found if file]


def _read(files: list[Path]) -> Document:
    if files[0].parent.parent == _HERE:
        return Document.read(files[0])
    from loadstone.applications import compose_import  # a slow import that built-in applications do not need
    from loadstone.applications.compose_import.sources import ComposeSource

    if len(files) == 1 and not compose_import.is_compose(ComposeSource.read(files[0])):
        return Document.read(files[0])
    return compose_import.read(files)


def _unknown_software(application: Application) -> list[tuple[tuple[str | int, ...], str]]:
    known = [name for name, store in software().software.items() if not (store.in_front or store.stack)]
    return [
        (
            ("services", name, "runs", "software"),
            f"no software {service.runs.software!r}" + did_you_mean(service.runs.software, known),
        )
        for name, service in application.services.items()
        if service.runs.software is not None and service.runs.software not in known
    ]


def _no_folder(application: Application) -> Iterator[Finding]:
    """The folder of the commands for its data, if it is none."""
    if not os.path.isdir(application.data.folder):
        message = f"{application.data.folder}: there is no such folder; paths are relative to the application file"
        yield ("data", "folder"), message


def _unknown_services(application: Application) -> Iterator[Finding]:
    """Services that the ``stone`` binary lacks."""
    for name, service in application.services.items():
        wanted = service.runs.stone
        if wanted is not None and wanted not in stone_services.NAMES:
            beside = [each for each in stone_services.NAMES if each.startswith(f"{wanted.partition('/')[0]}/")]
            known = beside or list(stone_services.NAMES)
            message = f"stone has no service {wanted!r}" + did_you_mean(wanted, known)
            yield ("services", name, "runs", "stone"), message
