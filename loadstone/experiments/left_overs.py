"""What else of this user is deployed from this machine while a run begins: it takes cores, memory and ports."""

from __future__ import annotations

from loadstone.infrastructure import journal
from loadstone.infrastructure.journal import cluster_name

UP = "up-"
"""What the names of deployments begin with that `loadstone up` left running on purpose."""


def left_overs(run: str, finds_clusters: bool) -> list[str]:
    """Warnings, one for each deployment and cluster that is not of ``run`` and that its cluster is not made of.

    ``finds_clusters``: of the run's infrastructure; then clusters are expected to be there.
    """
    found = []
    for entry in journal.entries():
        own = entry.name == cluster_name(run) or entry.name.startswith(f"{run}-")
        used = finds_clusters and entry.layer == "infrastructure"
        if not own and not used and not entry.kept:
            why = "is up" if entry.name.startswith(UP) else "was left by a run that was killed"
            found.append(f"{entry.name} {why}, and disturbs; remove it with: loadstone down {entry.name}")
    return found
