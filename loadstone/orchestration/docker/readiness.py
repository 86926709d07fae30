"""Readiness of foreign images: an engine finds nothing in them to ask with, so the question comes from inside."""

from __future__ import annotations

from collections.abc import Callable

from loadstone.model.deployment import Deployment, FoundReplica
from loadstone.orchestration.discovery import readiness_url


class FirstAnswers:
    """Remembers which containers have answered once: from then on they are not disturbed.

    ``why_not_ready`` says why a URL does not answer, empty if it does.
    """

    def __init__(self, deployment: Deployment, why_not_ready: Callable[[str], str]) -> None:
        self._deployment = deployment
        self._why_not_ready = why_not_ready
        self._answered: set[str] = set()

    def judge(self, found: FoundReplica) -> FoundReplica:
        """Not healthy before it has answered, if it is one of a foreign image."""
        replica = self._deployment.of(found.service)[0]
        if replica.image is None or not replica.ports or not found.healthy or found.container in self._answered:
            return found
        url = readiness_url(replica, found.address) if found.address else None
        why = self._why_not_ready(url) if url is not None else "it has no address yet"
        if not why:
            self._answered.add(found.container)
            return found
        return found.model_copy(update={"healthy": False, "why": why})
