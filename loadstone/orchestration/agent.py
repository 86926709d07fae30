"""The container on each node of an existing cluster that runs replicas or generates load.

`stone node` is started into it, on clients also load workers, what seeds stores, and the receiver of spans. It opens no
port and does nothing by itself: any user who may `exec` in the cluster may read its node. On Docker none waits: each
command has a container of its own.
"""

from __future__ import annotations

from loadstone.infrastructure.machines import exec
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment

NAME = exec.CONTAINER
"""The name of its container, DaemonSet or job."""
MOUNTS = exec.MOUNTS
"""What it sees of its node, read-only, with what is mounted below: folders of the container by folder of the node."""
ARGUMENTS = ("wait",)
"""Arguments that ``stone`` is started with."""
SCRATCH = "/tmp"
"""The only folder that it may write to, which ends with it: for files of the load."""


def nodes(deployment: Deployment) -> list[Node]:
    """The nodes on which it waits."""
    return [node for node in deployment.nodes if node.role != "manager" and node.reach.through_cluster]
