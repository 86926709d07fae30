"""The managers of a swarm: requests go to the first that answers and has a leader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from loadstone.infrastructure.docker_api import Engine, docker_errors
from loadstone.infrastructure.failover import Servers, Unable

_LEADER_WITHIN_S = 30.0
"""Managers that lost their leader elect another within seconds."""

T = TypeVar("T")


class Managers:
    """Access to a swarm through any of its managers: the others serve where one has failed, none without a majority."""

    def __init__(self, addresses: tuple[str, ...]) -> None:
        self._engines = Servers(Engine(url) for url in addresses)

    def ask(self, request: Callable[[Any], T]) -> T:
        """The answer of a manager to a request; raises Unreachable if none does."""
        return self._try(lambda engine: request(engine.api))

    def run(
        self, *command: str, given: str = "", folder: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> str:
        """What a command line of Docker's prints that talks to a manager with a leader."""

        def with_a_leader(engine: Engine) -> Engine:
            engine.api.nodes()
            return engine

        return self._try(with_a_leader).run(*command, given=given, folder=folder, variables=variables)

    def _try(self, step: Callable[[Engine], T]) -> T:
        def request(engine: Engine) -> T:
            with docker_errors(engine.url):
                return step(engine)

        return self._engines.ask(request, _LEADER_WITHIN_S, waits_for=Unable)
