from __future__ import annotations

import string
from datetime import date
from pathlib import Path

import pytest

from loadstone.applications import catalogue
from loadstone.experiments.plan import make_plan
from loadstone.model.application import Entry
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.fields import DateField, DecimalField

GOOD = """\
name: tiny
entry: {service: web, port: http}
default_workload: get
services:
  web:
    tier: frontend
    runs: {stone: hotel/frontend}
    ports: {http: 5000, admin: 9000}
    needs: [logic]
    readiness: {port: admin, http: /readyz}
  logic:
    tier: logic
    runs: {stone: hotel/geo}
    ports: {grpc: 8083}
    needs: [store]
  store:
    tier: storage
    runs: {documents: true}
workloads:
  get: {operations: {get: {path: /}}}
checks:
  - {store: store, collection: things, operation: get}
"""


def wrong(folder: Path, old: str, new: str) -> str:
    assert old in GOOD
    file = folder / "application.yaml"
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        catalogue.load(str(file))
    return str(caught.value).replace(str(folder) + "/", "")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "needs: [store]",
            "needs: [web]",
            "9: services.web.needs: services need each other in a circle: web -> logic -> web",
        ),
        (
            "needs: [store]",
            "needs: [logic]",
            "15: services.logic.needs: services need each other in a circle: logic -> logic",
        ),
        ("needs: [store]", "needs: [stor]", "15: services.logic.needs.0: no service 'stor'; did you mean 'store'?"),
        ("admin: 9000", "admin: 5000", "8: services.web.ports.admin: 5000 is already the port 'http'; give another"),
        ("port: admin", "port: admn", "10: services.web.readiness.port: web has no port 'admn'; did you mean 'admin'?"),
        (
            "{port: admin, http: /readyz}",
            "{http: /readyz}",
            "10: services.web.readiness.http: needs 'port', the name of the port that answers it",
        ),
        (
            "ports: {grpc: 8083}",
            "ports: {admin: 8083}",
            "11: services.logic: needs a port besides 'admin', for example ports: {grpc: 8081, admin: 9081}",
        ),
        ("entry: {service: web", "entry: {service: wbe", "2: entry.service: no service 'wbe'; did you mean 'web'?"),
        ("port: http}", "port: htp}", "2: entry.port: web has no port 'htp'; did you mean 'http'?"),
        (
            "default_workload: get",
            "default_workload: got",
            "3: default_workload: no workload 'got'; did you mean 'get'?",
        ),
        ("{store: store", "{store: shop", "22: checks.0.store: no service 'shop'; known: logic, store, web"),
        ("operation: get", "operation: put", "22: checks.0.operation: no workload has an operation 'put'; known: get"),
        (
            "{documents: true}",
            "{software: memcachd}",
            "18: services.store.runs.software: no software 'memcachd'; did you mean 'memcached'?",
        ),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert f"application.yaml:{complaint}" in wrong(tmp_path, old, new).splitlines()


def test_two_document_stores_for_one_service_are_refused(tmp_path: Path) -> None:
    more = "  store:\n    tier: storage\n    runs: {documents: true}\n"
    text = wrong(
        tmp_path, "needs: [store]\n" + more, "needs: [store, other]\n" + more + more.replace("store:", "other:")
    )
    assert "application.yaml:15: services.logic.needs: has 2 document stores; a service can have one" in text


def test_an_application_of_one_s_own_by_file_and_by_folder(tmp_path: Path) -> None:
    (tmp_path / "application.yaml").write_text(GOOD)
    by_file, by_folder = catalogue.load(str(tmp_path / "application.yaml")), catalogue.load(str(tmp_path))
    assert by_file.application.name == "tiny"
    assert by_file.digest == by_folder.digest


def test_the_digest_is_of_the_content_not_its_form(tmp_path: Path) -> None:
    file = tmp_path / "application.yaml"
    digests = []
    for text in (GOOD, "# a comment\n" + GOOD, GOOD.replace("5000", "5001")):
        file.write_text(text)
        digests.append(catalogue.load(str(file)).digest)
    assert digests[0] == digests[1] != digests[2]


def test_unknown_names_and_files() -> None:
    with pytest.raises(InputError, match=r"no application 'hotel-reservatio'; did you mean 'hotel-reservation'\?"):
        catalogue.load("hotel-reservatio")
    with pytest.raises(InputError, match=r"nowhere/application\.yaml: cannot be read: No such file"):
        catalogue.load("nowhere/application.yaml")


def test_hotel_reservation_is_the_published_one() -> None:
    assert "hotel-reservation" in catalogue.names()
    application = catalogue.load("hotel-reservation").application
    tiers = [service.tier for service in application.services.values()]
    assert {tier: tiers.count(tier) for tier in tiers} == {"frontend": 1, "logic": 9, "caching": 4, "storage": 8}
    assert all(service.resources.cpu == 1 for service in application.services.values())
    assert application.paper_resources["frontend"].cpu == 4
    assert application.paper_resources["storage"].memory == 2**30

    mixed = application.workloads["mixed"].operations
    assert {name: operation.weight for name, operation in mixed.items()} == {
        "hotels": 60, "recommendations": 39, "login": 0.5, "reservations": 0.5
    }  # fmt: skip
    others = {"reviews", "restaurants", "museums", "cinemas", "session"}
    assert set(application.workloads) == {"mixed", *mixed, *others}
    lat, lon = mixed["hotels"].fields["lat"], mixed["hotels"].fields["lon"]
    assert isinstance(lat, DecimalField) and isinstance(lon, DecimalField)
    # 38.0235 +- 0.2405 and -122.095 - 0.157 .. + 0.168, in steps of 0.001
    assert (lat.min, lat.max, lat.step) == pytest.approx((38.0235 - 0.2405, 38.0235 + 0.2405, 0.001))
    assert (lon.min, lon.max, lon.step) == pytest.approx((-122.095 - 0.157, -122.095 + 0.168, 0.001))
    first, out = mixed["hotels"].fields["inDate"], mixed["hotels"].fields["outDate"]
    assert isinstance(first, DateField) and isinstance(out, DateField)
    assert (first.from_, first.to, out.after, out.min_days, out.to) == (
        "2015-04-09", "2015-04-23", "inDate", 1, "2015-04-24"
    )  # fmt: skip
    assert date.fromisoformat(str(out.to)) > date.fromisoformat(str(first.to))
    login = mixed["login"]
    assert login.path.format(user=42) == "/user?username=Cornell_42&password=" + "42" * 10
    for operation in mixed.values():
        expected = {name for _, name, _, _ in string.Formatter().parse(operation.path) if name}
        assert expected == set(operation.fields)


def test_the_shop_is_the_published_one() -> None:
    application = catalogue.load("shop").application
    services = application.services
    assert [name for name, service in services.items() if service.tier != "storage"] == ["order", "user", "payment"]
    assert {name: service.needs for name, service in services.items() if service.needs} == {
        "order": ["user", "payment", "postgres-order"],
        "user": ["postgres-user"],
        "payment": ["user", "postgres-payment"],
    }
    assert all(service.runs.software == "postgres" for service in services.values() if service.tier == "storage")
    assert all(service.replicas == 1 for service in services.values())
    tasks = services["order"].tasks
    assert (tasks.large_file, tasks.small_file, tasks.small_rounds, tasks.keep) == (2_400_000, 140, 10, True)
    assert services["payment"].tasks.sleep == 0
    (create,) = application.workloads["orders"].operations.values()
    assert (create.method, create.path) == ("POST", "/orders/create/id/{id}")


def test_the_docstore_is_the_published_one() -> None:
    docstore = catalogue.load("docstore").application
    assert docstore.entry_of("read") == docstore.entry == Entry(service="queue", port="zmq")
    assert docstore.entry_of("insert") == Entry(service="couchdb", port="couchdb")
    assert docstore.services["queue"].ports["zmq"] == 5556 and catalogue.software().software["couchdb"].port == 5984
    assert docstore.services["queue"].tasks.variables() == {"STONE_TASK_SOCKET": "rep"}


def test_a_stand_in_runs_where_its_software_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docstore = catalogue.load("docstore").application
    known = catalogue.software()
    assert known.stand_in("couchdb") == "couchdb-stand-in" and known.stand_in("postgres") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert catalogue.replaced(docstore) == ["couchdb"]
    assert catalogue.replaced(catalogue.load("shop").application) == [], "it has none"
    study = Document(
        "{version: 1, name: reads, application: docstore, load: {rates: [1], slo: {p99: 1s}}, trial: {duration: 1s}}",
        "study.yaml",
    )
    (planned,) = make_plan(study).as_data()["treatments"]
    assert planned["stand_ins"] == {"couchdb": "couchdb-stand-in"}
    (tmp_path / "couchdb").touch(mode=0o755)
    assert catalogue.replaced(docstore) == []
    assert "stand_ins" not in make_plan(study).as_data()["treatments"][0]


def test_only_services_of_stone_have_tasks_and_data(tmp_path: Path) -> None:
    text = wrong(
        tmp_path, "runs: {documents: true}", "runs: {documents: true}\n    tasks: {linpack: 5}\n    data: true"
    )
    assert "services.store.tasks: only services of stone have 'tasks'; remove it" in text
    assert "services.store.data: only services of stone have 'data'; remove it" in text
    text = wrong(tmp_path, "needs: [store]", "needs: [store]\n    environment: {STONE_TASK_LINPACK: '5'}")
    assert "services.logic.environment.STONE_TASK_LINPACK: is set for every service of stone; remove it" in text


def test_software_has_official_images_by_version() -> None:
    elsewhere = {
        "mongodb": "mongo",
        "prometheus": "prom/prometheus",
        "grafana": "grafana/grafana",
        "jaeger": "jaegertracing/all-in-one",
    }
    for name, software in catalogue.software().software.items():
        if software.stands_for is not None:
            continue
        repository, _, tag = software.container.image.partition(":")
        assert repository == elsewhere.get(name, name)
        assert f"{tag.removeprefix('v')}.".startswith(f"{software.version}.")
