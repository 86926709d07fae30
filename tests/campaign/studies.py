"""The study of the campaign: the shop, small and short, in folders that hold all that a run leaves."""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.support import applications, groups
from tests.support.users import LOADSTONE, User, ours


def name(user: User) -> str:
    """The name of a user's study, and so of its deployments and control groups; no other test that runs now has it."""
    return f"campaign-{zlib.crc32(bytes(user.home)):08x}"


def write(user: User, rates: Sequence[float], trial: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Write a study of the shop in which slowness is no failure, as processes of this machine; returns it."""
    shop = applications.shop()
    (user.home / "application.yaml").write_text(yaml.safe_dump(shop))
    study = {
        "version": 1,
        "name": name(user),
        "application": str(user.home / "application.yaml"),
        "resources": applications.limits(shop),
        "load": {"rates": list(rates), "slo": {"p99": "10s"}, "timeout": "20s", "lateness": "10s", "connections": 8},
        "trial": {"warmup": "0s", "duration": "2s", "order": "sequential", **(trial or {})},
        **more,
    }
    (user.home / "study.yaml").write_text(yaml.safe_dump(study))
    for variable, folder in {"LOADSTONE_DATA": "data", "TMPDIR": "tmp"}.items():
        user.environment[variable] = str(user.home / folder)
    (user.home / "tmp").mkdir(exist_ok=True)
    return study


def start(user: User) -> subprocess.Popen[bytes]:
    """Run the study, however long it takes; what it prints is in the file ``log``."""
    command = [LOADSTONE, "run", "study.yaml"]
    with (user.home / "log").open("w") as log:
        return subprocess.Popen(command, cwd=user.home, env=user.environment, stdout=log, stderr=subprocess.STDOUT)


def records(user: User) -> list[dict[str, Any]]:
    """``trial.json`` of the finished trials of the newest run, in their order."""
    runs = sorted(user.home.glob("results/*/*/"))
    files = runs[-1].glob("trials/*/trial.json") if runs else []
    return sorted((json.loads(file.read_text()) for file in files), key=lambda record: int(record["row"]["order"]))


def verdicts(user: User) -> list[tuple[str, list[str]]]:
    """Verdict and reasons of the finished trials, in their order."""
    return [(record["verdict"]["verdict"], record["verdict"]["reasons"]) for record in records(user)]


def left(user: User) -> list[str]:
    """What is left of all runs: deployments, processes, control groups, folders of data, temporary files."""
    deployments: list[str] = json.loads(user.runs("status", "--json").stdout)["deployments"]
    made = [
        *groups.matching(f"loadstone/{name(user)}*"),
        *user.home.glob("data/deployments/*"),
        *user.home.glob("data/clusters/*"),
        *user.home.glob("tmp/*"),
    ]
    return deployments + ours(user.home) + [str(path) for path in made]


def finished(user: User) -> dict[Path, int]:
    """When each finished trial of all runs was written."""
    return {file: file.stat().st_mtime_ns for file in user.home.glob("results/*/*/trials/*/trial.json")}
