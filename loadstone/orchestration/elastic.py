"""The trace pipeline of the fifth study as a stack: collector, Kafka, ingester, Elasticsearch, Kibana. Pure.

All five run from official images, on one node, and keep the ports that they declare. Collector and ingester end while
Kafka or Elasticsearch is not there yet; orchestrators start them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.model import image
from loadstone.model.application import Readiness, Resources
from loadstone.model.deployment import Replica
from loadstone.model.stacks import ELASTIC, TIER

COLLECTOR, KAFKA, INGESTER, SEARCH, KIBANA = ELASTIC
SPANS = "otlp"
_TOPIC = "jaeger-spans"
_MAIN = "http"
_WITHIN_S = 300.0
"""Elasticsearch and Kibana take minutes on small machines."""


@dataclass(frozen=True)
class _Part:
    """One of the five. ``{elastic-kafka}`` in a variable is replaced by where other replicas reach it."""

    image: str
    ports: Mapping[str, int]
    ready: str | None
    environment: Mapping[str, str]


_PARTS = {
    KAFKA: _Part(
        "apache/kafka:3.7.2",
        {_MAIN: 9092},
        None,
        {
            "KAFKA_NODE_ID": "1",
            "KAFKA_PROCESS_ROLES": "broker,controller",
            "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://127.0.0.1:9093",
            "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://{{{KAFKA}}}",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
            "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@127.0.0.1:9093",
            "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
            "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
            "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        },
    ),
    SEARCH: _Part(
        "elasticsearch:7.17.24",
        {_MAIN: 9200},
        "/",
        {
            "discovery.type": "single-node",
            "node.store.allow_mmap": "false",  # else the host's vm.max_map_count would have to be raised
            "xpack.security.enabled": "false",
            "ES_JAVA_OPTS": "-Xms512m -Xmx512m",
        },
    ),
    COLLECTOR: _Part(
        "jaegertracing/jaeger-collector:1.62.0",
        {_MAIN: 14269, SPANS: 4317},
        "/",
        {
            "SPAN_STORAGE_TYPE": "kafka",
            "KAFKA_PRODUCER_BROKERS": f"{{{KAFKA}}}",
            "KAFKA_PRODUCER_TOPIC": _TOPIC,
            "COLLECTOR_OTLP_GRPC_HOST_PORT": ":4317",
        },
    ),
    INGESTER: _Part(
        "jaegertracing/jaeger-ingester:1.62.0",
        {_MAIN: 14270},
        "/",
        {
            "SPAN_STORAGE_TYPE": "elasticsearch",
            "ES_SERVER_URLS": f"http://{{{SEARCH}}}",
            "KAFKA_CONSUMER_BROKERS": f"{{{KAFKA}}}",
            "KAFKA_CONSUMER_TOPIC": _TOPIC,
        },
    ),
    KIBANA: _Part(
        "kibana:7.17.24",
        {_MAIN: 5601},
        "/api/status",
        {"ELASTICSEARCH_HOSTS": f"http://{{{SEARCH}}}", "SERVER_HOST": "0.0.0.0"},
    ),
}


def replicas(node: str, resources: Mapping[str, Resources]) -> list[Replica]:
    """All five on this node, in the order in which they need each other; ``configured`` gives them their addresses."""
    return [
        Replica(
            service=name,
            index=1,
            tier=TIER,
            node=node,
            resources=resources.get(name, Resources()),
            image=image.whole(part.image),
            ports=dict(part.ports),
            needs=(),
            readiness=Readiness(port=_MAIN, http=part.ready, within=_WITHIN_S),
            stack=True,
        )
        for name, part in _PARTS.items()
    ]


def configured(replica: Replica, reached: Mapping[str, str]) -> Replica:
    """A part with its variables; ``reached``: ``host:port`` of all parts by name."""
    given = {}
    for variable, value in _PARTS[replica.service].environment.items():
        for name, address in reached.items():
            value = value.replace(f"{{{name}}}", address)
        given[variable] = value
    return replica.model_copy(update={"environment": given})
