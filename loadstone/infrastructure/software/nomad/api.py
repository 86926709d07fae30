"""The HTTP APIs of Nomad and Consul. A request goes to the first server of a cluster that answers."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import requests

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.failover import Refused, Servers, Unreachable
from loadstone.infrastructure.software.nomad import credentials as saved

_RETRY_S = 30.0
"""How long a cluster may take to elect another leader."""
_CONNECT_S = 5.0
_ANSWER_S = 60.0
_LONGEST_COMPLAINT = 300
_TRANSIENT = re.compile(
    r"leader|raft|not ready|no path to region|no servers|connection|broken pipe|EOF|timeout|deadline", re.IGNORECASE
)
"""In the message of status 500 while a cluster elects a leader; other messages are permanent failures."""


class NomadApi:
    """One cluster's API. Where a server is down or has no leader, the next one is tried, for ``retry_s``.

    ``variable`` names the environment variable whose token is sent where none is given; tokens are in no message.
    Addresses are ``http://host:port``, or ``https://``, with NOMAD_CACERT or CONSUL_CACERT where the authority is not
    a public one.
    """

    def __init__(
        self, software: str, addresses: Sequence[str], header: str, variable: str, token: str, retry_s: float
    ) -> None:
        self._software = software
        self._servers = Servers(addresses)
        self._variable = "" if token else variable
        self._retry_s = retry_s
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy stands between a cluster and us
        self._session.verify = os.environ.get(f"{software.upper()}_CACERT") or True
        if token := token or os.environ.get(variable, ""):
            self._session.headers[header] = token

    def get(self, path: str, **query: str) -> Any:
        """The resource at a path; raises Refused, with status 404 for what does not exist, or Unreachable."""
        return self._json(self._ask("GET", path, query))

    def text(self, path: str, **query: str) -> str:
        """Likewise, for what is no JSON."""
        return self._ask("GET", path, query).text

    def post(self, path: str, data: Any, **query: str) -> Any:
        """The answer to data; the same may be sent twice if a server ends while it answers."""
        return self._json(self._ask("POST", path, query, data))

    def put(self, path: str, data: Any) -> Any:
        """Likewise, where an API wants PUT."""
        return self._json(self._ask("PUT", path, {}, data))

    def delete(self, path: str, **query: str) -> None:
        """Delete what is there."""
        self._ask("DELETE", path, query)

    def _ask(self, method: str, path: str, query: dict[str, str], data: Any = None) -> requests.Response:
        def request(address: str) -> requests.Response:
            try:
                answer = self._session.request(
                    method, f"{address}{path}", params=query, json=data, timeout=(_CONNECT_S, _ANSWER_S)
                )
            except (requests.RequestException, ValueError) as error:
                raise Unreachable(f"{address}: {_reason(error)}") from None
            if answer.status_code >= 500 and _TRANSIENT.search(answer.text):
                raise Unreachable(f"{address}: {_message(answer)}")
            self._check(address, answer)
            return answer

        try:
            return self._servers.ask(request, self._retry_s)
        except Unreachable as error:
            raise Unreachable(f"{self._software} does not answer: {error.message}") from None

    def _json(self, answer: requests.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            message = f"what answers at {answer.url} is not {self._software}: {_message(answer)[:80]}"
            raise Refused(answer.status_code, message) from None

    def _check(self, address: str, answer: requests.Response) -> None:
        if answer.ok:
            return
        message = f"{self._software} at {address} says {answer.status_code}: {_message(answer)}"
        remedy = ""
        if answer.status_code in (401, 403) and self._variable:
            given = "another token" if os.environ.get(self._variable) else "a token"
            remedy = f"set {self._variable} to {given}, one that may do this"
        raise Refused(answer.status_code, message, remedy)


def nomad(addresses: Sequence[str], token: str = "", retry_s: float = _RETRY_S) -> NomadApi:
    """Nomad's API; without a token, that of ``NOMAD_TOKEN``."""
    return NomadApi("Nomad", addresses, "X-Nomad-Token", "NOMAD_TOKEN", token, retry_s)


def consul(addresses: Sequence[str], token: str = "", retry_s: float = _RETRY_S) -> NomadApi:
    """Consul's API; without a token, that of ``CONSUL_HTTP_TOKEN``."""
    return NomadApi("Consul", addresses, "X-Consul-Token", "CONSUL_HTTP_TOKEN", token, retry_s)


def extra(consul: Sequence[str], namespace: str, mhz: int, credentials: str = "") -> dict[str, str]:
    """``Access.extra`` of such a cluster; ``mhz`` is what it counts a core as."""
    known = {"consul": ",".join(consul), "namespace": namespace, "mhz": str(mhz)}
    return known | ({"credentials": credentials} if credentials else {})


def nomad_of(access: Access, retry_s: float = _RETRY_S) -> NomadApi:
    """The API of a cluster, with its own token where Loadstone has started it."""
    return nomad(access.addresses, saved.load(access).get("NOMAD_TOKEN", ""), retry_s)


def consul_of(access: Access) -> NomadApi:
    """The API of the Consul that a Nomad cluster registers its services with."""
    return consul(access.extra["consul"].split(","), saved.load(access).get("CONSUL_HTTP_TOKEN", ""))


def _message(answer: requests.Response) -> str:
    """A server's error message, on one line."""
    return " ".join(answer.text.split())[:_LONGEST_COMPLAINT] or answer.reason


def _reason(error: Exception) -> str:
    """Why a server cannot be reached, without the names of the client's classes."""
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    match = re.search(r"\[Errno -?\d+\] ([A-Za-z ]+)|\[SSL[^\]]*\] ([^(]+)", str(error))
    return (match.group(1) or match.group(2)).strip() if match else str(error)
