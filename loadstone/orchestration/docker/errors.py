"""What Docker says when it cannot start a container, in words that a user can act on. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from loadstone.model.errors import DeploymentError


class Explanation(NamedTuple):
    """What is wrong, and what to do about it."""

    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


_TAKEN = Explanation(
    "port {0} of the node is taken", "stop what listens there (on the node, `ss -ltnp 'sport = :{0}'` says what)"
)
_KNOWN = (
    (
        r"(?:Bind for|listen tcp4?) \S*?:(\d+)(?: failed: port is already allocated|: bind: address already in use)",
        *_TAKEN,
    ),
    (
        r"host-mode port already in use",
        "a port that it publishes is taken by another service on each node that it may run on",
        "remove that service (`docker service ls` shows its ports), or allow it more nodes (placement)",
    ),
    (
        r"scheduling constraints not satisfied",
        "none of the nodes that it may run on takes it",
        "`docker node ls` says which are down or drained; placement says which are allowed",
    ),
    (
        r"No such image: (\S+)|Pulling \S+ \((\S+)\)|manifest for (\S+) not found|pull access denied for (\S+),",
        "the node has no image {0} and cannot pull it",
        "start again: Loadstone delivers its images; others must be in a registry that the node reaches",
    ),
    (
        r"Range of CPUs is from \S+ to (\S+),",
        "its limit is more CPU than the node's {0} cores",
        "set resources: {{SERVICE: {{cpu: ...}}}} in the study, or use a larger node",
    ),
    (
        r"Minimum memory limit allowed is (\w+)|Must be at least (\w+)",
        "Docker takes no memory limit below {0}",
        "set resources: {{SERVICE: {{memory: ...}}}} in the study",
    ),
)


def meaning(text: str) -> Explanation | None:
    """What Docker's words mean, if it is known; waiting helps in none of these cases."""
    for pattern, message, remedy in _KNOWN:
        if (match := re.search(pattern, text)) is not None:
            values = [group for group in match.groups() if group is not None]
            return Explanation(message.format(*values), remedy.format(*values))
    return None


def taken_port(number: int) -> Explanation:
    """The message for a port that another program uses."""
    return Explanation(*(text.format(number) for text in _TAKEN))


def clear(error: DeploymentError) -> DeploymentError:
    """The same error in words that say what to do, where they are known."""
    text = str(error)
    known = meaning(text)
    if known is None:
        return error
    service = re.search(r"(?:for service|start service|Pulling) (\S+)", text)
    return DeploymentError(f"{service.group(1).rstrip(':') + ': ' if service else ''}{known.message}", known.remedy)
