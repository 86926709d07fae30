"""Guesses from images, names and texts what a compose file lacks: tiers, ports, the entry. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loadstone.model.application import Tier


@dataclass(frozen=True)
class Known:
    """Facts about an image: the tier of its services, and its port."""

    tier: Tier
    port: int


_KNOWN: dict[str, Known] = {
    **dict.fromkeys(("memcached",), Known("caching", 11211)),
    **dict.fromkeys(("redis", "redis-stack", "redis-stack-server", "valkey", "keydb"), Known("caching", 6379)),
    **dict.fromkeys(("mongo", "mongodb", "mongodb-community-server"), Known("storage", 27017)),
    **dict.fromkeys(("postgres", "postgresql", "postgis", "timescaledb"), Known("storage", 5432)),
    **dict.fromkeys(("mysql", "mysql-server", "mariadb", "percona"), Known("storage", 3306)),
    **dict.fromkeys(("cassandra", "scylla"), Known("storage", 9042)),
    **dict.fromkeys(("elasticsearch", "opensearch"), Known("storage", 9200)),
    "couchdb": Known("storage", 5984),
    "cockroach": Known("storage", 26257),
    "jaegertracing": Known("tracing", 16686),
    "jaeger": Known("tracing", 16686),
    "zipkin": Known("tracing", 9411),
}
_FRONT = re.compile(r"(^|-)(front|frontend|web|webui|ui|www|nginx|gateway|edge|proxy|ingress|apigateway)(-|$)")


def known(image: str) -> Known | None:
    """What is known of an image by the parts of its name: ``bitnami/redis:7`` is a Redis."""
    for part in reversed(re.sub(r"(:[^/]*)?(@.*)?$", "", image).split("/")):
        if part in _KNOWN:
            return _KNOWN[part]
    return None


def looks_like_a_front(name: str) -> bool:
    """Whether a service's name is typical of an entry for requests."""
    return _FRONT.search(name) is not None


def mentions(word: str, texts: Iterable[str]) -> bool:
    """Whether any of the texts has a name as a word of its own."""
    whole = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w-])")
    return any(whole.search(text) for text in texts)


def addresses(name: str, texts: Iterable[str]) -> bool:
    """Whether any of the texts has a name where a host stands: ``geo:8083``, ``http://geo/``."""
    address = re.compile(rf"(?<![\w.-]){re.escape(name)}:[0-9]|//([^/@\s]*@)?{re.escape(name)}(?![\w.-])")
    return any(address.search(text) for text in texts)


def ports_of(name: str, texts: Iterable[str]) -> Iterator[int]:
    """The numbers that stand behind ``name:`` in the texts, in order."""
    address = re.compile(rf"(?<![\w.-]){re.escape(name)}:([0-9]{{1,5}})(?![\w.])")
    for text in texts:
        yield from (number for found in address.findall(text) if 0 < (number := int(found)) < 65536)
