"""A server that someone else deployed: it is found and loaded, and nothing of it is started, limited or removed."""

from __future__ import annotations

import socket
from functools import cached_property
from itertools import groupby
from typing import ClassVar

from loadstone import plugins
from loadstone.infrastructure.base import NO_SOFTWARE, Finding
from loadstone.model import address
from loadstone.model.errors import DeploymentError
from loadstone.model.records.audit import NOT_OBSERVED, UNKNOWN, AuditRow
from loadstone.orchestration.base import Orchestrator

_WITHIN_S = 5.0
_WHAT = ("cpu", "memory", "cores", "node", "image")


class External(Orchestrator):
    """Finds the addresses of ``deployment.external``. Of several families of a name, the first that answers is used."""

    name = "external"
    software = NO_SOFTWARE
    environments = ()
    deploys: ClassVar[bool] = False
    deploying_s = 0.0

    @cached_property
    def _answering(self) -> list[str]:
        """``host:port`` of each address that accepts a connection; raises DeploymentError where none does."""
        url = address.parsed(self.deployment.external)
        host, port = url.hostname or "", address.port(url)
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise DeploymentError(f"{host} has no address: {error.strerror}", _REMEDY) from None
        silent = []
        for _, group in groupby(dict.fromkeys((family, where[0]) for family, *_, where in found), lambda pair: pair[0]):
            answering = []
            for ip in (str(ip) for _, ip in group):
                if problem := _problem(ip, port):
                    silent.append(f"{address.joined(ip, port)} ({problem})")
                else:
                    answering.append(address.joined(ip, port))
            if answering:
                return answering
        raise DeploymentError(f"nothing answers at {self.deployment.external}: {', '.join(silent)}", _REMEDY)

    def preflight(self) -> list[Finding]:
        try:
            return [Finding("target", "ok", ", ".join(self._answering))]
        except DeploymentError as error:
            return [Finding("target", "error", error.message, error.remedy)]

    def render(self) -> dict[str, str]:
        return {}

    def apply(self, stores_only: bool = False) -> None:
        """Nothing is started."""

    def ready(self, stores_only: bool = False) -> None:
        assert self._answering

    def addresses(self, service: str, port: str) -> list[str]:
        return self._answering

    def audit(self) -> list[AuditRow]:
        rows = [(what, NOT_OBSERVED) for what in _WHAT] + [("environment", UNKNOWN)]
        return [
            AuditRow(replica=where, node=NOT_OBSERVED, what=what, wanted=value, effective=value)
            for where in self._answering
            for what, value in rows
        ]

    def events(self) -> list[str]:
        return []

    def logs(self, service: str | None = None, lines: int = 50) -> dict[str, str | None]:
        return {}

    def remove(self) -> None:
        """Nothing was started."""


def kind_of(name: str) -> type[Orchestrator]:
    """The orchestrator of a treatment; ``external`` is that of a study's URL, and no study can name it."""
    kind: type[Orchestrator] = External if name == External.name else plugins.find("orchestrators", name)
    return kind


_REMEDY = "start the server, or correct the address"


def _problem(ip: str, port: int) -> str:
    """Why an address accepts no connection; empty where it does."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.settimeout(_WITHIN_S)
            probe.connect((ip, port))
    except TimeoutError:
        return f"no answer within {_WITHIN_S:g} s"
    except OSError as error:
        return error.strerror or str(error)
    return ""
