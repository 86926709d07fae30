"""What is in each image: the ``stone`` binary alone, or a store's installed program with all that it needs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pwd
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.infrastructure import programs, subprocesses, temporary
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.images import elf
from loadstone.infrastructure.images.layers import LayerEntry, file, fingerprint, folder, text, tree
from loadstone.model.deployment import DATA
from loadstone.model.errors import PreflightError
from loadstone.model.software import STORE_PASSWORD, AsProcess, StoreSoftware

_FORMAT = 1
"""Raise it when what is made of the same files changes."""
_UNPRIVILEGED = 65534
_STORE = 999
"""The user that a store has to itself, where it has one."""
_KEY_LENGTH = 12
_INITIALISED_S = 600.0
"""To make an empty database on a slow disk."""


@dataclass(frozen=True)
class Data:
    """A data folder that is made with the image, so that nothing has to be initialised when a container starts."""

    path: str
    command: list[str]
    """Fills the folder that stands for ``{data}``."""
    user: str | None
    """Who runs that here, if we are root."""
    append: dict[str, str]

    @contextlib.contextmanager
    def made(self, what: str) -> Iterator[list[LayerEntry]]:
        """Initialise such a folder, and its files while it is there. No two are equal: databases draw identities."""
        with temporary.directory("image") as parent:
            Path(parent).chmod(0o755)
            made = Path(parent) / "data"
            made.mkdir(mode=0o700)
            user = pwd.getpwnam(self.user) if self.user is not None and os.geteuid() == 0 else None
            if user is not None:
                os.chown(made, user.pw_uid, user.pw_gid)
            command = [word.replace("{data}", str(made)) for word in self.command]
            result = subprocesses.run(
                command,
                within_s=_INITIALISED_S,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"},
                user=user.pw_uid if user else None,
                group=user.pw_gid if user else None,
                extra_groups=[] if user else None,
            )
            if result.returncode != 0:
                output = (result.stderr or result.stdout).strip()
                raise PreflightError(f"no image of {what}: `{' '.join(command)}` failed: {output}")
            for name, lines in self.append.items():
                with (made / name).open("a", encoding="utf-8") as out:
                    out.write(lines)
            yield tree(self.path, made, _STORE)


@dataclass(frozen=True)
class ImageRecipe:
    """An image before it is made."""

    what: str
    machine: str
    config: dict[str, Any]
    layers: tuple[list[LayerEntry], ...]
    data: Data | None = None

    @property
    def key(self) -> str:
        """Twelve hexadecimal digits of what decides the image."""
        data = None if self.data is None else [self.data.path, self.data.command, self.data.append]
        parts = [_FORMAT, self.machine, self.config, data, *(fingerprint(layer) for layer in self.layers)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_KEY_LENGTH]


def of_stone() -> ImageRecipe:
    """The image of the ``stone`` binary; raises PreflightError where it is missing or not static."""
    binary = stone_binary()
    config = {
        "User": f"{_UNPRIVILEGED}:{_UNPRIVILEGED}",
        "Env": ["PATH=/"],
        "Entrypoint": ["/stone"],
        "WorkingDir": "/",
    }
    base = [
        file("/stone", binary),
        folder("/tmp", 0o1777),
        folder(DATA, 0o700, _UNPRIVILEGED),  # an engine gives a volume that is mounted here its owner
        *(folder(path) for path in ("/dev", "/proc", "/run", "/sys")),  # a root that is read-only needs them
        *_accounts({"root": 0, "nobody": _UNPRIVILEGED}),
    ]
    return ImageRecipe("stone", elf.static_machine(binary), config, (base,))


def _accounts(users: dict[str, int]) -> list[LayerEntry]:
    people = "".join(f"{name}:x:{number}:{number}::/:/\n" for name, number in users.items())
    groups = "".join(f"{name}:x:{number}:\n" for name, number in users.items())
    return [text("/etc/passwd", people), text("/etc/group", groups)]


def of_store(what: str, software: StoreSoftware) -> ImageRecipe:
    """The image of a store's installed package, above the layer of ``stone``.

    Raises PreflightError where the package is not installed.
    """
    finding = inspect(what, software)
    process, container = software.process, software.container
    program = programs.find(process) if process else None
    if finding.level == "error" or process is None or program is None:
        raise PreflightError(finding.message, finding.remedy)
    base = of_stone()
    user = process.user if process.user not in (None, "nobody") else None
    owner = _UNPRIVILEGED if user is None else _STORE
    own = [] if program == str(stone_binary()) else [Path(program)]  # which the layer below has
    wanted = [*own, *_more_files(what, container.packaged.files, Path(program).parent)]
    needed = [library for path in wanted for library in elf.libraries(path.resolve())]
    members = [file(os.path.normpath(path), path) for path in [*wanted, *needed]]
    if user is not None:
        members += _accounts({"root": 0, "nobody": _UNPRIVILEGED, user: _STORE})
    initialises = bool(process.initialise) and container.data is not None
    if container.data is not None and not initialises:
        members.append(folder(container.data, 0o700, owner))
    given = {name: value for name, value in container.environment.items() if value != STORE_PASSWORD}
    environment = {"PATH": f"{Path(program).parent}:/", **given}
    config = {
        "User": f"{owner}:{owner}",
        "Env": [f"{name}={value}" for name, value in environment.items()],
        **({"Entrypoint": [program]} if container.packaged.entrypoint else {}),
        "Cmd": container.command,
        "WorkingDir": container.data or "/",
        "StopSignal": f"SIG{process.stop_signal}",
        "Labels": {"org.opencontainers.image.version": programs.version(program)},
    }
    data = _data(process, program, container.data or "", container.packaged.append) if initialises else None
    return ImageRecipe(what, base.machine, config, (*base.layers, members), data)


def inspect(what: str, software: StoreSoftware) -> Finding:
    """Whether an image of the installed package can be made here."""
    process = software.process
    program = programs.find(process) if process else None
    if process is not None and program is not None:
        return Finding(what, "ok", f"an image of {program} {programs.version(program)}")
    package = process.package if process is not None else what
    message = f"no image of {what} can be made: {package} is not installed here"
    remedy = programs.remedy(process) if process is not None and process.build else "install it"
    remedy += ", or set `cluster.images: official` where nodes reach a registry"
    if software.documents:
        remedy += ", or choose another document store"
    return Finding(what, "error", message, remedy)


def _data(process: AsProcess, program: str, path: str, append: dict[str, str]) -> Data:
    placeholders = {"program": program, "folder": str(Path(program).parent), "data": "{data}"}
    return Data(path, [word.format(**placeholders) for word in process.initialise], process.user, append)


def _more_files(what: str, patterns: list[str], beside: Path) -> list[Path]:
    """The files that patterns name, with all of a folder that one names."""
    found = []
    for pattern in patterns:
        here = os.path.normpath(pattern.format(folder=beside))
        matches = programs.matching(here)
        if not matches:
            message = f"no image of {what} can be made: there is no {here}"
            raise PreflightError(message, "reinstall its package, or set `cluster.images: official`")
        for match in matches:
            found += [match] if match.is_file() else [path for path in sorted(match.rglob("*")) if path.is_file()]
    return found
