"""Requests to a cluster of several servers: where one fails, the next is tried, and all of them again for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from loadstone.model.errors import DeploymentError

_AGAIN_EVERY_S = 0.25

Server = TypeVar("Server")
Answer = TypeVar("Answer")


class Unreachable(DeploymentError):
    """A server does not answer, or cannot act: another one may."""


class Unable(Unreachable):
    """A server answers that it cannot act now: it has no leader, for one."""


class Refused(DeploymentError):
    """A server understood a request and refused it, as all others would; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.status = status


class Servers(Generic[Server]):
    """Those of one cluster. Every request can be repeated, so a server that fails is left for the next one."""

    def __init__(self, servers: Iterable[Server]) -> None:
        self._servers = list(servers)

    @property
    def first(self) -> Server:
        """The server that is tried first: the one that answered last."""
        return self._servers[0]

    def ask(
        self,
        request: Callable[[Server], Answer],
        patience_s: float,
        waits_for: type[Unreachable] = Unreachable,
    ) -> Answer:
        """The first answer; ``request`` raises Unreachable where the next server should be tried.

        When all have failed, they are tried again, for ``patience_s``, if one of them failed by ``waits_for``. Then
        raises what that server did, with the messages of all.
        """
        deadline = time.monotonic() + patience_s
        while True:
            failures: list[Unreachable] = []
            for server in list(self._servers):
                try:
                    return request(server)
                except Unreachable as error:
                    failures.append(error)
                    self._servers.append(self._servers.pop(0))
            worth = [error for error in failures if isinstance(error, waits_for)]
            if not worth or time.monotonic() > deadline:
                chosen = (worth or failures)[0]
                messages = dict.fromkeys(error.message for error in failures)
                raise type(chosen)("; ".join(messages), chosen.remedy)
            time.sleep(_AGAIN_EVERY_S)
