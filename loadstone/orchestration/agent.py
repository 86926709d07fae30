"""The container on each worker of an existing cluster, into which `stone node` is started.

It opens no port and does nothing by itself: any user who may `exec` in the cluster may read its node.
"""

from __future__ import annotations

from loadstone.infrastructure.machines import exec
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment

NAME = exec.CONTAINER
"""Of its container, DaemonSet or job."""
MOUNTS = exec.MOUNTS
"""What it sees of its node, read-only, with what is mounted below: folders of the container by folder of the node."""
ARGUMENTS = ("wait",)
"""Of ``stone``."""


def nodes(deployment: Deployment) -> list[Node]:
    """The workers on which it waits."""
    return [node for node in deployment.nodes if node.role == "worker" and node.reach.through_cluster]
