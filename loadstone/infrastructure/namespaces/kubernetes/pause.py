"""The image of what holds a pod's namespaces open while its containers come and go: this machine's ``sleep``."""

from __future__ import annotations

import shutil
from pathlib import Path

from loadstone.infrastructure.images import archive, elf, layers
from loadstone.model.errors import PreflightError

REFERENCE = "docker.io/loadstone/pause:1"


def write(file: Path) -> None:
    """Write the image's archive."""
    program = Path(shutil.which("sleep") or "/bin/sleep").resolve()
    found = elf.inspect(program)
    if found is None:
        raise PreflightError(f"{program} is no program that an image can be made of", "reinstall coreutils")
    members = [layers.file(str(path), path) for path in [program, *elf.libraries(program)]]
    config = {"Entrypoint": [str(program), "infinity"], "WorkingDir": "/"}
    archive.write(file, REFERENCE, found.machine, config, [members])
