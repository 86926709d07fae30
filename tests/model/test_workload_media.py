"""Media Microservices' services and workloads against what is published, figure by figure.

Published: 31 services without tracing; reviews by users 1 to 1000 of one of 1,000 films, marks 0 to 10, texts of 256
characters, to /wrk2-api/review/compose. The service `page` is published too, and not deployed.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from loadstone.applications import catalogue
from loadstone.model import dataset
from loadstone.model.fields import FileField, IntegerField, TextField

APPLICATION = catalogue.load("media-microservices").application
SERVICES = list(APPLICATION.services.values())
PUBLISHED = APPLICATION.datasets["published"].keys
COMPOSE = dataset.resolved(APPLICATION.workloads["compose-review"], PUBLISHED).operations["compose"]


def test_the_services_are_the_published_ones_and_page() -> None:
    kinds = Counter(
        (item.tier, item.runs.software or ("documents" if item.runs.documents else "stone")) for item in SERVICES
    )
    assert kinds == {
        ("frontend", "stone"): 1,
        ("logic", "stone"): 12 + len(["page"]),
        ("caching", "memcached"): 7,
        ("caching", "redis"): 3,
        ("storage", "documents"): 8,
    }
    assert len(SERVICES) == 31 + len(["page"])


def test_ports_differ_so_that_all_can_run_on_one_host() -> None:
    ports = [port for service in SERVICES for port in service.ports.values()]
    assert len(ports) == 2 * 14 and len(set(ports)) == len(ports)


def test_a_review_is_the_published_one() -> None:
    fields = COMPOSE.fields
    assert fields["user"] == IntegerField.model_validate({"kind": "integer", "min": 1, "max": 1000})
    assert fields["rating"] == IntegerField.model_validate({"kind": "integer", "min": 0, "max": 10})
    assert fields["text"] == TextField.model_validate({"kind": "text", "length": 256})
    titles = fields["title"]
    assert isinstance(titles, FileField) and titles.order == "random"
    lines = Path(titles.path).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(lines)) == 1000
    assert (COMPOSE.method, COMPOSE.path) == ("POST", "/wrk2-api/review/compose")
    names = [pair.partition("=")[0] for pair in COMPOSE.body.split("&")]
    assert names == ["username", "password", "title", "rating", "text"]


def test_what_is_composed_in_any_workload_is_counted_in_three_stores() -> None:
    composing = {name for load in APPLICATION.workloads.values() for name in load.request_names() if "compose" in name}
    assert composing == {"compose", "visit.compose"}
    counted = {check.store for check in APPLICATION.checks if check.operation == "compose"}
    assert counted == {"documents-review-storage", "documents-movie-review", "documents-user-review"}
