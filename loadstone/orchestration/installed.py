"""Store software as this machine has it: where programs are, which version, and data folders to start from."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
from pathlib import Path

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.places import data_root
from loadstone.infrastructure.programs import find, remedy, version
from loadstone.model.errors import DeploymentError
from loadstone.model.software import Software
from loadstone.orchestration.running import run_as


def inspect(name: str, software: Software) -> Finding:
    """Whether software can run as a process here."""
    process = software.process
    if process is None:
        return Finding(name, "error", f"{name} cannot run as a process", "choose another orchestrator")
    found = find(process)
    if found is None:
        places = " or ".join(process.program)
        instead = ", or set documents: postgres" if name == "mongodb" else ""
        return Finding(name, "error", f"{name} is not installed: no {places}", remedy(process) + instead)
    if process.user is not None and os.geteuid() == 0:
        try:
            pwd.getpwnam(process.user)
        except KeyError:
            message = f"{name} must not run as root, and there is no user {process.user!r}"
            return Finding(name, "error", message, f"make that user, or install {process.package}")
    return Finding(name, "ok", f"{found} {version(found)}")


def program(name: str, software: Software) -> str:
    """The path of the program; raises DeploymentError with the remedy where there is none."""
    finding = inspect(name, software)
    found = find(software.process) if software.process else None
    if finding.level == "error" or found is None:
        raise DeploymentError(finding.message, finding.remedy)
    return found


def prepare_data(software: str, program: str, initialise: list[str], user: str | None, target: Path) -> None:
    """Make ``target`` a replica's data folder, owned by ``user``; filled as ``initialise`` does, if given.

    What ``initialise`` makes is kept by software, version and command, and copied from then on.
    """
    _make_open(target.parent)
    if not initialise:
        target.mkdir(mode=0o700, exist_ok=True)
        _own(target, user)
        return
    command = [word.replace(str(target), "{data}") for word in initialise]
    template = _template_folder(software, program, command, user)
    if not template.exists():
        _make_template(template, software, command, user, target.parent / f".{software}")
    copied = run_as(["cp", "-a", "--reflink=auto", "-T", str(template), str(target)], None)
    if copied.returncode != 0:
        raise DeploymentError(f"cannot copy the data folder of {software}: {copied.stderr.strip()}")


def _template_folder(software: str, program: str, command: list[str], user: str | None) -> Path:
    resolved = Path(program).resolve()
    facts = resolved.stat()
    identity = repr((command, str(resolved), facts.st_size, facts.st_mtime_ns, user))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return data_root() / "templates" / f"{software}-{version(program)}-{digest}"


def _make_template(template: Path, software: str, command: list[str], user: str | None, making: Path) -> None:
    """Initialise in ``making``, a folder of the deployment that is removed with it, and rename it last."""
    _make_open(template.parent)
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700)
    _own(making, user)
    result = run_as([word.replace("{data}", str(making)) for word in command], user)
    if result.returncode != 0:
        raise DeploymentError(
            f"{software}: `{' '.join(command)}` failed: {(result.stderr or result.stdout).strip()}",
            f"its user must be able to enter {data_root()}; set LOADSTONE_DATA to a folder where it can",
        )
    try:
        making.rename(template)
    except OSError:
        if not template.exists():  # else another run was faster
            raise


def _make_open(folder: Path) -> None:
    """Make a folder below the data root that other users may enter, whatever the umask."""
    folder.mkdir(parents=True, exist_ok=True)
    while folder != data_root().parent:
        folder.chmod(0o755)
        folder = folder.parent


def _own(folder: Path, user: str | None) -> None:
    if user is not None and os.geteuid() == 0:
        shutil.chown(folder, user, group=None)
