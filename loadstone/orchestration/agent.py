"""What all orchestrators say of the node agent, which runs on workers whose kernel cannot be asked from here."""

from __future__ import annotations

from loadstone.model.deployment import Deployment

NAME = "loadstone-agent"
"""Of its service, DaemonSet or job."""
PORT = 9620
"""On every node. An agent belongs to no deployment, so where several share a node, one of theirs answers for all."""
MOUNTS = {"/proc": "/host/proc", "/sys": "/host/sys"}
"""What it sees of its node, read-only, with what is mounted below: folders of the container by folder of the node."""
ARGUMENTS = (
    *("agent", "--listen", f"0.0.0.0:{PORT}"),
    *("--proc", "/host/proc", "--sys", "/host/sys", "--cgroup", "/host/sys/fs/cgroup"),
)
"""Of ``stone``."""


def wanted(deployment: Deployment) -> bool:
    """Whether agents belong to a deployment."""
    return bool(deployment.elsewhere())


def addresses(deployment: Deployment) -> dict[str, str]:
    """Where the agents are: host:port by node."""
    return {node.name: f"{node.address}:{PORT}" for node in deployment.elsewhere()}
