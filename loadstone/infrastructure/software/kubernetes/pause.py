"""The image that holds a pod's namespaces open while its containers come and go: the desk's ``sleep``."""

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
        raise PreflightError(f"{program} is no program from which an image can be made", "reinstall coreutils")
    members = [layers.file(str(path), path) for path in [program, *elf.libraries(program)]]
    config = {"Entrypoint": [str(program), "infinity"], "WorkingDir": "/"}
    archive.write(file, REFERENCE, found.machine, config, [members])
