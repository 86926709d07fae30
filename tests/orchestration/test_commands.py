from __future__ import annotations

import yaml

from loadstone.applications import catalogue
from loadstone.orchestration.ports import BASE_PORT, preferred_ports
from loadstone.orchestration.process.commands import (
    Command,
    NodePlace,
    Site,
    commands,
    rendered,
    symbolic_site,
)
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes


def by_name(**settings: str) -> dict[str, Command]:
    deployment = deployed(parse(SERVICES), two_nodes(), **settings)
    return {command.replica.name: command for command in commands(deployment, symbolic_site(deployment))}


def test_ports_are_preferred_in_order_and_the_entry_keeps_its_own() -> None:
    ports = preferred_ports(deployed(parse(SERVICES), two_nodes(), scaling="horizontal"))
    numbers = [number for of_replica in ports.values() for number in of_replica.values()]
    assert len(set(numbers)) == len(numbers)
    assert ports["frontend-1"]["http"] == 5000
    assert sorted(set(numbers) - {5000}) == list(range(BASE_PORT, BASE_PORT + len(numbers) - 1))


def test_the_environment_of_a_service() -> None:
    geo = by_name()["geo-1"]
    assert geo.argv == ["stone", "serve", "hotel/geo"]
    assert geo.environment == {
        "STONE_LISTEN": f"127.0.0.1:{geo.ports['grpc']}",
        "STONE_ADMIN": f"127.0.0.1:{geo.ports['admin']}",
        "STONE_NEED_MEMCACHED_GEO": "127.0.0.1:20000",
        "STONE_DOCUMENTS": "postgres://postgres@127.0.0.1:20001/postgres?sslmode=disable",
        "STONE_STORE_PASSWORD": "{store_password}",
        "STONE_PROFILE": "",
        "STONE_LOG_LEVEL": "info",
    }


def test_every_replica_of_a_need_is_named() -> None:
    geo_1, geo_2 = by_name(scaling="horizontal")["geo-1"], by_name(scaling="horizontal")["geo-2"]
    addresses = f"127.0.0.1:{geo_1.ports['grpc']},127.0.0.1:{geo_2.ports['grpc']}"
    assert by_name(scaling="horizontal")["frontend-2"].environment["STONE_NEED_GEO"] == addresses


def test_each_replica_keeps_to_one_of_several_stores() -> None:
    all_ = by_name(scaling="horizontal", profile="paper")
    urls = [all_[f"geo-{n}"].environment["STONE_DOCUMENTS"] for n in (1, 2)]
    ports = [all_[f"documents-geo-{n}"].ports["postgres"] for n in (1, 2)]
    assert urls == [f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable" for port in ports]


def test_only_the_quirks_are_a_profile_of_the_services() -> None:
    assert by_name(profile="dsb-quirks")["geo-1"].environment["STONE_PROFILE"] == "dsb-quirks"
    assert by_name(profile="paper")["geo-1"].environment["STONE_PROFILE"] == ""


def test_mongodb_gets_its_own_url() -> None:
    url = by_name(documents="mongodb")["geo-1"].environment["STONE_DOCUMENTS"]
    assert url == "mongodb://__system@127.0.0.1:20001/?authSource=local"


def test_words_of_software_are_filled_in() -> None:
    deployment = deployed(parse(SERVICES), two_nodes())
    programs = {"stone": "/s/stone", "memcached": "/m/memcached", "postgres": "/p/bin/postgres"}
    site = Site(preferred_ports(deployment), {"worker-1": NodePlace(programs, "/data", "loadstone/x", "replicas")})
    store = next(c for c in commands(deployment, site) if c.replica.service == "documents-geo")
    assert store.argv[:5] == ["/p/bin/postgres", "-D", "/data/documents-geo-1", "-p", "20001"]
    assert store.initialise[:3] == ["/p/bin/initdb", "-D", "/data/documents-geo-1"]
    assert store.ready[0] == "/p/bin/pg_isready"
    assert (store.user, store.stop_signal, store.data) == ("replicas", "INT", "/data/documents-geo-1")
    assert not any("{" in word for word in [*store.argv, *store.initialise, *store.ready])


def test_the_rendered_file_is_readable_and_the_same_again() -> None:
    deployment = deployed(parse(SERVICES), two_nodes())
    files = rendered(deployment, symbolic_site(deployment))
    assert files == rendered(deployment, symbolic_site(deployment))
    assert set(files) == {"processes.yaml", "configs/documents-geo-1/pg_hba.conf"}
    processes = yaml.safe_load(files["processes.yaml"])["processes"]
    assert list(processes) == ["memcached-geo-1", "documents-geo-1", "geo-1", "frontend-1"]
    assert processes["geo-1"]["limits"] == {"cpu": 0.25, "memory": "32MiB", "cores": "1"}
    assert processes["memcached-geo-1"]["limits"] == {"cpu": "unlimited", "memory": "unlimited", "cores": "1"}


def test_every_software_s_words_can_be_filled() -> None:
    for documents in ("postgres", "mongodb"):
        deployment = deployed(catalogue.load("hotel-reservation").application, two_nodes(), documents=documents)
        assert len(commands(deployment, symbolic_site(deployment))) == 22
