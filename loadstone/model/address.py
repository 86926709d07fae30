"""Addresses of a server over HTTP: ``http://host:port``, with a path where a request is meant."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

PORTS = {"http": 80, "https": 443}
"""By scheme, where an address names no port."""


def is_url(text: str) -> bool:
    """Whether a text begins as an address does."""
    return text.startswith(tuple(f"{scheme}://" for scheme in PORTS))


def lacks_scheme(text: str) -> bool:
    """Whether a text is an address but for its scheme: ``host:port``, with or without a path."""
    return re.fullmatch(r"(\[[^]]*\]|[\w.-]+):\d+(/.*)?", text) is not None


def parsed(text: str, messages: bool = False) -> SplitResult:
    """The parts of an address, with ``messages`` that of a socket of ZeroMQ (``tcp://host:port``).

    Raises ValueError with what is wrong and what to write instead.
    """
    example = "tcp://127.0.0.1:5556" if messages else "http://127.0.0.1:8080"
    if re.search(r"\s", text):
        raise ValueError(f"{text!r} has a space in it; write %20 for one")
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as error:
        raise ValueError(f"{text!r} is not an address: {error}") from None
    known = url.scheme == "tcp" and port is not None if messages else url.scheme in PORTS
    if not known or not url.hostname or port == 0:
        raise ValueError(f"{text!r} is not an address; write it like {example}")
    if url.username is not None or url.fragment:
        raise ValueError(
            f"{text!r}: an address has no credentials and no '#'; send credentials in the header Authorization"
        )
    return url


def port(url: SplitResult) -> int:
    """The port that an address names, or its scheme's."""
    return url.port or PORTS[url.scheme]


def joined(host: str, port: int) -> str:
    """``host:port``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_port(url: SplitResult) -> str:
    """``host:port`` of an address."""
    return joined(url.hostname or "", port(url))


def path(url: SplitResult) -> str:
    """The path and the query of a request to an address: ``/`` at least."""
    return (url.path or "/") + (f"?{url.query}" if url.query else "")


def operation_name(path: str) -> str:
    """What a request to a path is called in results: ``/users/-id-`` of ``/users/{id}?all``."""
    return re.sub(r"[^A-Za-z0-9_:/-]", "-", path.partition("?")[0]) or "/"


def is_ip(host: str) -> bool:
    """Whether a host is given by its IP address, and not by a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
