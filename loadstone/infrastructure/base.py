"""What an infrastructure must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from loadstone.model.cluster import Cluster, Node


@dataclass(frozen=True)
class Finding:
    """One thing that a preflight looked at: fine, a warning, or a reason not to start."""

    what: str
    level: str  # ok | warning | error
    message: str
    remedy: str = ""


class Infrastructure(ABC):
    """Hands out nodes. Made for one cluster, used once."""

    name: ClassVar[str]

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @abstractmethod
    def preflight(self) -> list[Finding]:
        """What this infrastructure lacks or warns of; changes nothing."""

    @abstractmethod
    def nodes(self) -> list[Node]:
        """The nodes, the client's among them; made where they do not exist yet."""

    @abstractmethod
    def release(self) -> None:
        """Give the nodes back; nothing that ``nodes`` made is left. May be called twice."""
