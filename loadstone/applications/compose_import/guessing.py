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
    **dict.fromkeys(("solr",), Known("storage", 8983)),
    **dict.fromkeys(("clickhouse", "clickhouse-server"), Known("storage", 8123)),
    **dict.fromkeys(("influxdb",), Known("storage", 8086)),
    **dict.fromkeys(("neo4j",), Known("storage", 7687)),
    **dict.fromkeys(("minio",), Known("storage", 9000)),
    **dict.fromkeys(("rabbitmq",), Known("storage", 5672)),
    **dict.fromkeys(("kafka", "cp-kafka", "redpanda"), Known("storage", 9092)),
    **dict.fromkeys(("activemq", "activemq-artemis", "artemis"), Known("storage", 61616)),
    **dict.fromkeys(("nats",), Known("storage", 4222)),
    **dict.fromkeys(("zookeeper", "cp-zookeeper"), Known("storage", 2181)),
    **dict.fromkeys(("consul",), Known("storage", 8500)),
    **dict.fromkeys(("etcd",), Known("storage", 2379)),
    **dict.fromkeys(("nacos-server",), Known("storage", 8848)),
    "jaegertracing": Known("tracing", 16686),
    "jaeger": Known("tracing", 16686),
    "zipkin": Known("tracing", 9411),
}
_STATEFUL = re.compile(
    r"(^|-)(db|database|mysql|mariadb|postgres|postgresql|mongo|mongodb|redis|valkey|memcached|memcache|cassandra"
    r"|elasticsearch|opensearch|solr|minio|rabbitmq|kafka|activemq|nats|zookeeper|consul|etcd|eureka|nacos|registry)$"
)
_LOADING = re.compile(
    r"(^|[-/_])(locust|k6|jmeter|artillery|vegeta|gatling|load-?(gen(erator)?|test(er|s)?)|user-sim)([-/_:]|$)"
)
_FRONT = re.compile(r"(^|-)(front|frontend|web|webui|ui|www|nginx|gateway|edge|proxy|ingress|apigateway)(-|$)")


def known(image: str) -> Known | None:
    """What is known of an image by the parts of its name: ``bitnami/redis:7`` is a Redis."""
    for part in reversed(re.sub(r"(:[^/]*)?(@.*)?$", "", image).split("/")):
        if part in _KNOWN:
            return _KNOWN[part]
    return None


def tier(name: str, image: str) -> Tier:
    """The tier of a service by its image, else by its name."""
    if (there := known(image)) is not None:
        return there.tier
    return "storage" if holds_state(name) else "logic"


def holds_state(name: str) -> bool:
    """Whether a service's name is typical of a database, a broker or a registry, whatever its image is."""
    return _STATEFUL.search(name.replace("_", "-")) is not None


def generates_load(name: str, image: str) -> bool:
    """Whether a service's name or image is typical of a load generator."""
    return any(_LOADING.search(text) is not None for text in (name, image))


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


def names(name: str, values: Iterable[str]) -> bool:
    """Whether any of the values is a name alone, or a list of names with it."""
    return any(name in re.split(r"[\s,;]+", value) for value in values)


def ports_of(name: str, texts: Iterable[str]) -> Iterator[int]:
    """The numbers that stand behind ``name:`` in the texts, in order."""
    address = re.compile(rf"(?<![\w.-]){re.escape(name)}:([0-9]{{1,5}})(?![\w.])")
    for text in texts:
        yield from (number for found in address.findall(text) if 0 < (number := int(found)) < 65536)
