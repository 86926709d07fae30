"""Store software as a machine has it: where programs are, which version, and data folders to start from."""

from __future__ import annotations

import hashlib
import re
import shlex
from typing import TYPE_CHECKING

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.programs import remedy
from loadstone.model.errors import DeploymentError
from loadstone.model.software import STONE, STORE_PASSWORD, AsProcess, StoreSoftware
from loadstone.orchestration.process.commands import Command

if TYPE_CHECKING:
    from loadstone.infrastructure.machines import Machine

_FIND = """
number=0
for pattern in "$@"; do
  number=$((number + 1))
  case $pattern in
    */*) for file in $pattern; do if [ -f "$file" ] && [ -x "$file" ]; then echo "$number $file"; fi; done ;;
    *) if file=$(command -v "$pattern"); then echo "$number $file"; fi ;;
  esac
done
"""
_VERSION = """
for option in --version -v version; do  # nginx knows the second alone, jaeger the third
  if text=$("$1" $option 2>&1); then echo "$text"; fi
done
"""
_IDENTITY = 'export PATH="$PATH:/usr/bin:/bin"; readlink -f "$1"; stat -Lc "%s %Y" "$1"'
_ABSENT = 9
_COPY = f"""
export PATH="$PATH:/usr/bin:/bin"
[ -d "$1" ] || exit {_ABSENT}
cp -a --reflink=auto -T "$1" "$2" || exit 1
if [ "$(id -u)" = 0 ] && [ -n "$3" ]; then exec chown -R "$3:$3" "$2"; fi
"""
_MAKE_FOLDER = """
export PATH="$PATH:/usr/bin:/bin"
set -e
umask 022
mkdir -p "$(dirname "$1")"
mkdir -m 700 -p "$1"
if [ "$(id -u)" = 0 ] && [ -n "$2" ]; then chown "$2" "$1"; fi
"""
_KEEP = 'export PATH="$PATH:/usr/bin:/bin"; umask 022; mkdir -p "$(dirname "$2")"; mv -T "$1" "$2" || [ -d "$2" ]'
_INITIALISED_WITHIN_S = 300.0


def find(machine: Machine, process: AsProcess) -> str | None:
    """The first of the places where the program is, else what was built of it; of versions in a glob, the newest."""
    if process.program == [STONE]:
        return machine.stone
    lines = _shell(machine, _FIND, *process.program).splitlines()
    found = [(-int(number), path) for number, path in (line.split(None, 1) for line in lines)]
    if found:
        return max(
            found, key=lambda candidate: (candidate[0], [int(digits) for digits in re.findall(r"\d+", candidate[1])])
        )[1]
    if process.build is None:
        return None
    from loadstone.infrastructure.builds.recipes import recipe  # with all that builds need: few software has one

    if not (built := recipe(process.build).cached).exists():
        return None
    if machine.run(["test", "-x", str(built)]).code == 0:
        return str(built)
    digest = hashlib.sha256(built.read_bytes()).hexdigest()[:16]
    path = f"{machine.stone.rpartition('/')[0]}/{built.name}-{digest}"
    if machine.run(["test", "-x", path]).code != 0:
        machine.put(built, path, 0o755)
    return path


def version(machine: Machine, program: str) -> str:
    """The version number that a program has."""
    match = re.search(r"\d+(\.\d+)+", machine.run(["/bin/sh", "-c", _VERSION, "version", program]).stdout)
    return match.group(0) if match else "unknown"


def inspect(machine: Machine, name: str, software: StoreSoftware) -> Finding:
    """Whether software can run as a process on a machine."""
    process = software.process
    if process is None:
        return Finding(name, "error", f"{name} cannot run as a process", "choose another orchestrator")
    found = find(machine, process)
    if found is None:
        places = " or ".join(process.program)
        instead = ", or set documents: postgres" if name == "mongodb" else ""
        message = f"{name} is not installed on {machine.name}: no {places}"
        return Finding(name, "error", message, remedy(process) + instead)
    root = machine.hello.uid == 0
    if process.user is not None and root and machine.run(["id", "-u", process.user]).code != 0:
        message = f"{name} must not run as root, and {machine.name} has no user {process.user!r}"
        return Finding(name, "error", message, f"make that user there, or install {process.package}")
    return Finding(name, "ok", f"{found} {version(machine, found)}")


def program(machine: Machine, name: str, software: StoreSoftware) -> str:
    """The path of the program; raises DeploymentError with the remedy where there is none."""
    finding = inspect(machine, name, software)
    found = find(machine, software.process) if software.process else None
    if finding.level == "error" or found is None:
        raise DeploymentError(finding.message, finding.remedy)
    return found


def prepare_data(machine: Machine, software: str, program: str, command: Command, password: str) -> None:
    """Make the data folder of a replica, owned by its user; filled as ``command.initialise`` does, if given.

    What that makes is kept on the machine by software, version and arguments, and copied from then on: once for a
    deployment, where it gets the password, and from there for each replica.
    """
    target, user = command.data or "", command.user
    if not command.initialise:
        _shell(machine, _MAKE_FOLDER, target, user)
        return
    ours = f"{target.rpartition('/')[0]}/.{software}"
    copy = ["/bin/sh", "-c", _COPY, "copy", ours, target, user]
    copied = machine.run(copy)
    if copied.code == _ABSENT:
        _with_password(machine, software, program, command, password, ours)
        copied = machine.run(copy)
    if copied.code != 0:
        raise DeploymentError(f"{machine.name}: cannot copy the data folder of {software}: {copied.complaint}")


def _with_password(machine: Machine, software: str, program: str, command: Command, password: str, target: str) -> None:
    """Make a deployment's own initialised folder, renamed last."""
    making = f"{target}-making"
    _shell(machine, 'rm -rf -- "$1"', making)
    template = _template(machine, software, program, command)
    copy = ["/bin/sh", "-c", _COPY, "copy", template, making, ""]
    copied = machine.run(copy)
    if copied.code == _ABSENT:
        _initialise(machine, software, command, f"{target}-initialised", template)
        copied = machine.run(copy)
    if copied.code == 0 and command.password:
        argv = [word.replace(command.data or "", making) for word in command.password]
        given = command.password_input.replace(STORE_PASSWORD, password).encode()
        copied = machine.run(argv, user=command.initialiser or command.user, given=given)
    if copied.code != 0:
        raise DeploymentError(f"{machine.name}: cannot prepare the data folder of {software}: {copied.complaint}")
    _shell(machine, 'mv -T "$1" "$2"', making, target)


def _template(machine: Machine, software: str, program: str, command: Command) -> str:
    """The folder that is copied; another version of the program or another command has another one."""
    argv = [word.replace(command.data or "", "{data}") for word in command.initialise]
    identity = repr((argv, _shell(machine, _IDENTITY, program), command.initialiser))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return f"{machine.hello.state}/templates/{software}-{version(machine, program)}-{digest}"


def _initialise(machine: Machine, software: str, command: Command, making: str, template: str) -> None:
    """Initialise in ``making``, a folder of the deployment that is removed with it, and rename it last."""
    user = command.initialiser or command.user
    _shell(machine, 'rm -rf -- "$1"', making)
    _shell(machine, _MAKE_FOLDER, making, user)
    argv = [word.replace(command.data or "", making) for word in command.initialise]
    result = machine.run(argv, user=user, within_s=_INITIALISED_WITHIN_S)
    if result.code != 0:
        raise DeploymentError(
            f"{machine.name}: {software}: `{shlex.join(argv)}` failed: {result.complaint}",
            f"its user must be able to enter {machine.hello.state} there",
        )
    _shell(machine, _KEEP, making, template)


def _shell(machine: Machine, script: str, *arguments: str) -> str:
    return machine.output(["/bin/sh", "-c", script, "sh", *arguments])
