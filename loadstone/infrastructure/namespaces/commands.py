"""Short-lived programs of the system (ip, tc, ...), none of which outlives us."""

from __future__ import annotations

import os
import shutil

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.base import Finding
from loadstone.model.errors import DeploymentError

WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""Before a command: it dies when we do, so what undoes us later does not meet it still making things."""


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """What system programs and daemons need, and ``more``; nothing else of the user's environment reaches them."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    return {"PATH": path, "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8", **(more or {})}


def run(*argv: str, given: str = "") -> str:
    """What a command prints, ``given`` being its input; raises DeploymentError with its complaint."""
    done = subprocesses.run([*WITH_US, *argv], input=given, env=environment())
    if done.returncode != 0:
        complaint = done.stderr.strip() or f"exit status {done.returncode}"
        raise DeploymentError(f"`{' '.join(argv)}` failed: {complaint}")
    return done.stdout


def impossible(command: str) -> str:
    """Why a line of shell fails in namespaces that vanish with it; empty if it does not."""
    entered = ["unshare", "--net", "--mount", "--uts", "sh", "-ec", command]
    tried = subprocesses.run([*WITH_US, *entered], env=environment())
    return "" if tried.returncode == 0 else tried.stderr.strip() or f"exit status {tried.returncode}"


def missing(needed: dict[str, str]) -> list[Finding]:
    """The programs that are not installed, ``needed`` giving the package of each."""
    path = environment()["PATH"]
    return [
        Finding(program, "error", f"{program} is not installed", f"sudo apt-get install -y {package}")
        for program, package in needed.items()
        if shutil.which(program, path=path) is None
    ]
