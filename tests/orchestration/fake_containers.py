"""An orchestrator of containers without a cluster."""

from __future__ import annotations

from loadstone.infrastructure.base import Access
from loadstone.model.application import Entry
from loadstone.model.deployment import FoundReplica
from loadstone.orchestration.containers import Containers


class Fake(Containers):
    """One replica that runs, in a cluster that is not there."""

    name = "fake"
    software = "docker"

    def render(self) -> dict[str, str]:
        return {}

    def _create(self, services: list[str]) -> None:
        pass

    def _find(self) -> list[FoundReplica]:
        found = FoundReplica(
            name="web-1", service="web", node="worker-1", state="running", healthy=True, container="a" * 64
        )
        return [found]

    def _log(self, found: FoundReplica, lines: int) -> str:
        return ""

    def _lost(self) -> list[str]:
        return []

    def _wait_for_entry(self, entry: Entry, started: float) -> None:
        pass

    def _why_no_agent(self) -> list[str]:
        return ["no node may run it"]

    def scale(self, service: str, replicas: int) -> None:
        pass

    @classmethod
    def _delete(cls, access: Access, name: str) -> None:
        pass
