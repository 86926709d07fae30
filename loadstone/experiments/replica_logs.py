"""The logs of a deployment's replicas as files. None is needed for a verdict: what is missing is a warning."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.errors import DeploymentError
from loadstone.orchestration.base import Orchestrator

_LINES = 200


def write(orchestrator: Orchestrator, folder: Path) -> tuple[str, ...]:
    """Write the end of each replica's log into ``folder``; returns what is missing, as sentences."""
    folder.mkdir(exist_ok=True)
    try:
        logs = orchestrator.logs(lines=_LINES)
    except DeploymentError as error:
        return (f"the logs of replicas are missing: {error}",)
    for replica, text in logs.items():
        if text is not None:
            (folder / f"{replica}.log").write_text(text, encoding="utf-8")
    missing = ", ".join(replica for replica, text in logs.items() if text is None)
    return (f"the logs of these replicas cannot be read and are missing: {missing}",) if missing else ()
