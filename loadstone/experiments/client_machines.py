"""Whether there are as many client machines as the load of a study needs."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone import plugins
from loadstone.infrastructure.base import Finding, Infrastructure
from loadstone.model.cluster import Cluster, Node
from loadstone.model.instances import Instances
from loadstone.model.load import Load
from loadstone.model.study import Study
from loadstone.workloads.members import clients_needed, shortage

_REMEDY = "give more machines the role client, raise load.threads, or set load.workers if yours can generate more"


def enough(cluster: Cluster, load: Load) -> Cluster:
    """The cluster; with as many clients as the load needs where machines are made and the study names no number."""
    needed, instances = clients_needed(load) or 1, cluster.instances or Instances()
    if needed == 1 or instances.clients is not None or not _kind(cluster).makes_machines:
        return cluster
    return cluster.model_copy(update={"instances": instances.model_copy(update={"clients": needed})})


def too_few(study: Study, url: str | None) -> str | None:
    """Why the clients that a study names are too few, as a sentence; None where they are enough, or not yet known.

    ``url``: of an application that someone else deployed, whose load this machine generates alone.
    """
    if shortage(study.load, 1) is None:
        return None
    there = 1 if url is not None else _kind(study.cluster).client_machines(study.cluster)
    why = shortage(study.load, there) if there is not None else None
    return None if why is None else f"{why}; {_REMEDY}"


def findings(study: Study, nodes: Sequence[Node]) -> list[Finding]:
    """A warning where a cluster that was there before has too few of them."""
    if _kind(study.cluster).client_machines(study.cluster) is not None:  # the plan has a warning already
        return []
    why = shortage(study.load, sum(node.role == "client" for node in nodes))
    return [] if why is None else [Finding("clients", "warning", why, _REMEDY)]


def _kind(cluster: Cluster) -> type[Infrastructure]:
    kind: type[Infrastructure] = plugins.find("infrastructure", cluster.infrastructure)
    return kind
