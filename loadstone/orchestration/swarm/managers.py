"""The managers of a swarm: requests go to the first that answers and has a leader."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from loadstone.infrastructure.docker_api import Engine, Unable, Unreachable, docker_errors
from loadstone.model.errors import DeploymentError

_LEADER_WITHIN_S = 30.0
"""Managers that lost their leader elect another within seconds."""
_ASK_EVERY_S = 0.5

T = TypeVar("T")


class Managers:
    """Questions to a swarm. One manager may be gone, others take over; a swarm without a majority answers nothing."""

    def __init__(self, addresses: tuple[str, ...]) -> None:
        self._engines = [Engine(url) for url in addresses]

    def ask(self, question: Callable[[Any], T]) -> T:
        """What a manager answers; raises Unreachable or Unable if none does."""
        return self._try(lambda engine: question(engine.api))

    def run(
        self, *command: str, given: str = "", folder: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> str:
        """What a command line of Docker's prints that talks to a manager with a leader."""

        def with_a_leader(engine: Engine) -> Engine:
            engine.api.nodes()
            return engine

        return self._try(with_a_leader).run(*command, given=given, folder=folder, variables=variables)

    def _try(self, step: Callable[[Engine], T]) -> T:
        deadline = time.monotonic() + _LEADER_WITHIN_S
        while True:
            failures: list[DeploymentError] = []
            for engine in list(self._engines):
                try:
                    with docker_errors(engine.url):
                        return step(engine)
                except (Unreachable, Unable) as error:
                    failures.append(error)
                    self._engines.append(self._engines.pop(0))  # from now on the next one is tried first
            unable = [error for error in failures if isinstance(error, Unable)]
            if not unable or time.monotonic() > deadline:
                raise (unable or failures)[0]
            time.sleep(_ASK_EVERY_S)
