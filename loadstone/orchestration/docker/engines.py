"""The engines of a cluster's nodes that can be reached from here: what they know of their containers."""

from __future__ import annotations

import time
from typing import Any

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.docker_api import Engine, docker_errors
from loadstone.model.errors import DeploymentError

LOG_BYTES = 1 << 18
"""The most that is kept of a log, of its end."""
_KNOWN_FOR_S = 2.0
"""The output of a health check is read again after this time; the wait for readiness polls more often."""


class Engines:
    """By node. What cannot be read, or no longer exists, is empty."""

    def __init__(self, access: Access | None) -> None:
        self._engines = {node: Engine(url) for node, url in (access.engines if access is not None else {}).items()}
        self._images: dict[str, str] = {}
        self._killed: dict[str, bool] = {}
        self._last_checks: dict[str, tuple[float, str]] = {}

    def reaches(self, node: str) -> bool:
        """Whether the engine of a node can be reached from here."""
        return node in self._engines

    def silent(self) -> dict[str, str]:
        """The nodes whose engines do not answer now, with the reason."""
        why = {node: engine.silence() for node, engine in self._engines.items()}
        return {node: reason.splitlines()[0] for node, reason in why.items() if reason is not None}

    def image(self, node: str, container: str) -> str:
        """The id of the image that a container runs."""
        if container not in self._images:
            image = str(self.inspect(node, container).get("Image", ""))
            if not image:
                return ""
            self._images[container] = image
        return self._images[container]

    def health(self, node: str, container: str) -> str:
        """The last output of a container's health check."""
        read_at, output = self._last_checks.get(container, (0.0, ""))
        if time.monotonic() - read_at > _KNOWN_FOR_S:
            output = last_check(self.inspect(node, container))
            self._last_checks[container] = (time.monotonic(), output)
        return output

    def ran_out_of_memory(self, node: str, container: str) -> bool:
        """Whether the kernel killed a process of a container that ended."""
        if container not in self._killed:
            self._killed[container] = bool(self.inspect(node, container).get("State", {}).get("OOMKilled"))
        return self._killed[container]

    def log(self, node: str, container: str, lines: int) -> str | None:
        """The last lines that a container wrote; None where the engine does not give them."""
        engine = self._engines[node]
        try:
            with docker_errors(engine.url):
                output: bytes = engine.api.logs(container, tail=lines)
        except DeploymentError:
            return None
        return output[-LOG_BYTES:].decode(errors="replace").rstrip("\n")

    def inspect(self, node: str, container: str) -> dict[str, Any]:
        """All that the engine says of a container."""
        if (engine := self._engines.get(node)) is None:
            return {}
        try:
            with docker_errors(engine.url):
                return dict(engine.api.inspect_container(container))
        except DeploymentError:
            return {}


def last_check(inspected: dict[str, Any]) -> str:
    """The last words of a container's health check; empty before the first one ended."""
    checks = inspected.get("State", {}).get("Health", {}).get("Log") or []
    return f"its check says: {checks[-1]['Output'].strip()}" if checks and checks[-1]["Output"].strip() else ""
