"""The HTTP APIs of Nomad and Consul: whichever server of a cluster answers is asked."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from typing import Any

import requests

from loadstone.infrastructure.base import Access
from loadstone.model.errors import DeploymentError

_PATIENCE_S = 30.0
"""How long a cluster may take to elect another leader."""
_CONNECT_S = 5.0
_ANSWER_S = 60.0
_PAUSE_S = 0.25
_LONGEST_COMPLAINT = 300
_PASSING = re.compile(
    r"leader|raft|not ready|no path to region|no servers|connection|broken pipe|EOF|timeout|deadline", re.IGNORECASE
)
"""In what a server says with status 500 while its cluster is about to be whole again; other things are for good."""


class Unreachable(DeploymentError):
    """No server answers, or none of them can act."""


class Refused(DeploymentError):
    """A server said no; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str, remedy: str = "") -> None:
        self.status = status
        super().__init__(message, remedy)


class Api:
    """One cluster's API. A server that is down, or without a leader, makes it ask the next one, and again for a while.

    ``variable`` names the environment variable that may hold a token; it is sent and never told. Addresses are
    ``http://host:port``, or ``https://``, with NOMAD_CACERT or CONSUL_CACERT where the authority is not a public one.
    """

    def __init__(self, software: str, addresses: Sequence[str], header: str, variable: str, patience_s: float) -> None:
        self._software = software
        self._addresses = list(addresses)
        self._variable = variable
        self._patience_s = patience_s
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy stands between a cluster and us
        self._session.verify = os.environ.get(f"{software.upper()}_CACERT") or True
        if token := os.environ.get(variable):
            self._session.headers[header] = token

    def get(self, path: str, **query: str) -> Any:
        """What the API says there; raises Refused, with status 404 for what does not exist, or Unreachable."""
        return self._json(self._ask("GET", path, query))

    def text(self, path: str, **query: str) -> str:
        """Likewise, for what is no JSON."""
        return self._ask("GET", path, query).text

    def post(self, path: str, data: Any, **query: str) -> Any:
        """What the API answers to data; the same may be said twice if a server ends while it answers."""
        return self._json(self._ask("POST", path, query, data))

    def delete(self, path: str, **query: str) -> None:
        """Delete what is there."""
        self._ask("DELETE", path, query)

    def _ask(self, method: str, path: str, query: dict[str, str], data: Any = None) -> requests.Response:
        deadline = time.monotonic() + self._patience_s
        while True:
            complaints = []
            for address in list(self._addresses):
                try:
                    answer = self._session.request(
                        method, f"{address}{path}", params=query, json=data, timeout=(_CONNECT_S, _ANSWER_S)
                    )
                except (requests.RequestException, ValueError) as error:
                    complaints.append(f"{address}: {_reason(error)}")
                else:
                    if answer.status_code < 500 or not _PASSING.search(answer.text):
                        self._check(address, answer)
                        return answer
                    complaints.append(f"{address}: {_words(answer)}")
                self._addresses.append(self._addresses.pop(0))  # whoever answered last is asked first
            if time.monotonic() > deadline:
                raise Unreachable(f"{self._software} does not answer: {'; '.join(complaints)}")
            time.sleep(_PAUSE_S)

    def _json(self, answer: requests.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            said = f"what answers at {answer.url} is not {self._software}: {_words(answer)[:80]}"
            raise Refused(answer.status_code, said) from None

    def _check(self, address: str, answer: requests.Response) -> None:
        if answer.ok:
            return
        message = f"{self._software} at {address} says {answer.status_code}: {_words(answer)}"
        remedy = ""
        if answer.status_code in (401, 403):
            given = "another token" if os.environ.get(self._variable) else "a token"
            remedy = f"set {self._variable} to {given}, one that may do this"
        raise Refused(answer.status_code, message, remedy)


def nomad(addresses: Sequence[str], patience_s: float = _PATIENCE_S) -> Api:
    """Nomad's API; ``NOMAD_TOKEN`` is respected."""
    return Api("Nomad", addresses, "X-Nomad-Token", "NOMAD_TOKEN", patience_s)


def consul(addresses: Sequence[str], patience_s: float = _PATIENCE_S) -> Api:
    """Consul's API; ``CONSUL_HTTP_TOKEN`` is respected."""
    return Api("Consul", addresses, "X-Consul-Token", "CONSUL_HTTP_TOKEN", patience_s)


def extra(consul: Sequence[str], namespace: str, mhz: int) -> dict[str, str]:
    """What ``Access`` holds of such a cluster besides Nomad's addresses; ``mhz`` is what it counts a core as."""
    return {"consul": ",".join(consul), "namespace": namespace, "mhz": str(mhz)}


def consul_of(access: Access) -> Api:
    """The API of the Consul that a Nomad cluster registers its services with."""
    return consul(access.extra["consul"].split(","))


def _words(answer: requests.Response) -> str:
    """What a server says of an error, on one line."""
    return " ".join(answer.text.split())[:_LONGEST_COMPLAINT] or answer.reason


def _reason(error: Exception) -> str:
    """Why a server cannot be asked, without the names of the client's classes."""
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    match = re.search(r"\[Errno -?\d+\] ([A-Za-z ]+)|\[SSL[^\]]*\] ([^(]+)", str(error))
    return (match.group(1) or match.group(2)).strip() if match else str(error)
