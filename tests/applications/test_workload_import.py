"""Workloads of OpenAPI and HAR files: what is requested, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.applications.workload_import import har, openapi
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.workload import Workload
from tests.cli.conftest import RunCommand, say
from tests.support.plans import read_plan

__all__ = ["say"]

API = """
openapi: 3.0.3
info: {title: Pets}
servers: [{url: "http://127.0.0.1:8080/{base}", variables: {base: {default: v1}}}]
paths:
  /pets:
    get:
      operationId: list pets
      parameters:
        - {in: query, name: limit, required: true, schema: {type: integer, default: 20}}
        - {in: query, name: tag, schema: {type: string}}
    post: {}
  /pets/{pet-id}:
    parameters: [{$ref: "#/components/parameters/pet"}]
    get: {security: [{key: []}]}
  /owners/{id}:
    get: {parameters: [{in: path, name: id, required: true, schema: {type: string}}]}
components:
  parameters:
    pet: {in: path, name: pet-id, required: true, examples: {a: {value: rex & co}, b: {value: 2}}}
"""


def test_gets_with_examples_become_operations(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(API)
    found = openapi.workload(tmp_path / "api.yaml")
    assert found.url == "http://127.0.0.1:8080"
    assert found.workload["operations"] == {
        "list-pets": {"path": "/v1/pets?limit=20"},
        "/pets/-pet-id-": {
            "path": "/v1/pets/{pet_id}",
            "fields": {"pet_id": {"kind": "choice", "values": ["rex & co", "2"]}},
        },
    }
    Document.of(found.workload, "workload").parse(Workload)
    notes = "\n".join(found.notes)
    assert "1 request left out (POST /pets): only GETs are written" in notes
    assert "1 request left out (GET /owners/{id} (id)): a parameter has no example" in notes
    assert "GET /pets/{pet-id} needs credentials" in notes


@pytest.mark.parametrize(
    ("parameter", "query"),
    [
        ({"example": True}, "x=true"),
        ({"schema": {"default": False}}, "x=false"),
        ({"example": ["a", "b c"]}, "x=a&x=b%20c"),
        ({"example": ["a", "b"], "explode": False}, "x=a%2Cb"),
        ({"example": {"a": 1}}, None),
        ({"example": None}, None),
    ],
)
def test_values_are_written_as_requests_have_them(tmp_path: Path, parameter: dict[str, Any], query: str | None) -> None:
    get = {"parameters": [{"in": "query", "name": "x", "required": True, **parameter}], "security": [{}, {"key": []}]}
    (tmp_path / "api.json").write_text(
        json.dumps({"openapi": "3.0.3", "paths": {"/a": {"get": get}, "/b": {"get": {}}}})
    )
    found = openapi.workload(tmp_path / "api.json")
    assert found.workload["operations"].get("/a") == ({"path": f"/a?{query}"} if query else None)
    assert not any("credentials" in note for note in found.notes)


def test_parameters_of_one_name_become_fields_of_different_ones(tmp_path: Path) -> None:
    places = [("path", "id"), ("query", "id"), ("query", "größe")]
    parameters = [{"in": at, "name": name, "required": True, "schema": {"enum": [1, 2]}} for at, name in places]
    (tmp_path / "api.json").write_text(
        json.dumps({"openapi": "3.0.3", "paths": {"/a/{id}": {"get": {"parameters": parameters}}}})
    )
    found = openapi.workload(tmp_path / "api.json").workload
    Document.of(found, "workload").parse(Workload)
    assert found["operations"]["/a/-id-"]["path"] == "/a/{id}?id={id_2}&gr%C3%B6%C3%9Fe={gr__e}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "is no OpenAPI file"),
        ("openapi: 3.0.0\npaths: {/a: {post: {}}}", "has no GET that can be requested"),
        ("openapi: 3.0.0\npaths: {/a: {get: {$ref: other.yaml}}}", "only references within the file are read"),
        ("openapi: 3.0.0\npaths: {/a: {get: {$ref: '#/gone'}}}", "the file has no such part"),
    ],
)
def test_what_is_no_openapi_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "api.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        openapi.workload(tmp_path / "api.yaml")


def entry(method: str, url: str, status: int = 200, body: str = "", **headers: str) -> dict[str, Any]:
    request: dict[str, Any] = {"method": method, "url": url}
    request["headers"] = [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]
    if body:
        request["postData"] = {"mimeType": "application/json", "text": body}
    return {"request": request, "response": {"status": status}}


def archive(tmp_path: Path, *entries: dict[str, Any]) -> Path:
    file = tmp_path / "visit.har"
    file.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    return file


def test_a_recording_becomes_a_mix_by_how_often(tmp_path: Path) -> None:
    shop = "http://shop.example:8080"
    found = har.workload(
        archive(
            tmp_path,
            entry("GET", f"{shop}/", Cookie="secret", Accept="text/html", User_Agent="Browser"),
            entry("GET", f"{shop}/", Cookie="secret", Accept="text/html", User_Agent="Browser"),
            entry("POST", f"{shop}/cart", 201, '{"sku": 7}', Content_Type="application/json", Content_Length="10"),
            entry("GET", f"{shop}/missing", 404),
            entry("OPTIONS", f"{shop}/cart"),
            entry("POST", f"{shop}/template", 200, "{name}"),
            entry("GET", "https://ads.example/pixel"),
        )
    )
    assert found.url == shop
    assert found.workload["operations"] == {
        "/": {"weight": 2, "path": "/", "headers": {"Accept": "text/html"}},
        "post:/cart": {
            "weight": 1,
            "method": "POST",
            "path": "/cart",
            "headers": {"Content-Type": "application/json"},
            "body": '{"sku": 7}',
        },
    }
    Document.of(found.workload, "workload").parse(Workload)
    notes = "\n".join(found.notes)
    for text in (
        "(GET /missing): they failed when they were recorded",
        "(OPTIONS /cart): OPTIONS is not supported",
        "(POST /template): their body has a word in braces",
        "(ads.example): they went to other servers",
        "the order of the requests and the pauses between them are dropped",
        "cookies and credentials are left out",
        "1 operations change data",
    ):
        assert text in notes
    assert "secret" not in json.dumps(found.workload)


def test_the_fields_of_a_form_are_its_body_and_a_header_in_braces_is_noted(tmp_path: Path) -> None:
    form = entry("POST", "http://h/login", **{"X-Filter": "{name}"})
    form["request"]["postData"] = {
        "mimeType": "application/x-www-form-urlencoded; charset=UTF-8",
        "params": [{"name": "user", "value": "a b"}, {"name": "key", "value": "c&d"}],
    }
    upload = entry("POST", "http://h/upload")
    upload["request"]["postData"] = {"mimeType": "multipart/form-data", "params": [{"name": "f", "fileName": "a.png"}]}
    found = har.workload(archive(tmp_path, form, upload))
    assert found.workload["operations"] == {
        "post:/login": {"weight": 1, "method": "POST", "path": "/login", "body": "user=a+b&key=c%26d"}
    }
    notes = "\n".join(found.notes)
    assert "1 request left out (POST /upload): their body is not text" in notes
    assert "X-Filter is left out where it has a word in braces" in notes


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    for content, message in (({"log": {}}, "is no HAR file"), ({"log": {"entries": []}}, "no request over HTTP")):
        (tmp_path / "visit.har").write_text(json.dumps(content))
        with pytest.raises(InputError, match=message):
            har.workload(tmp_path / "visit.har")


def test_init_writes_a_workload_beside_the_study(say: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(API)
    code, text, complaint = say("init", "--openapi", "api.yaml")
    assert code == 0, complaint
    assert "study.workload.yaml: 2 operations" in text and "only GETs are written" in complaint
    _, plan = read_plan(tmp_path / "study.yaml")
    assert plan.study.application == "http://127.0.0.1:8080"
    assert list(plan.application.workloads[plan.application.default_workload].operations) == [
        "list-pets",
        "/pets/-pet-id-",
    ]
    recorded = archive(tmp_path, entry("GET", "http://other.example/a"))
    code, _, complaint = say("init", "http://mine.example", "--har", str(recorded), "-o", "har.yaml")
    assert code == 0, complaint
    assert read_plan(tmp_path / "har.yaml")[1].study.application == "http://mine.example"
    assert say("init", "--har", str(recorded), "--openapi", "api.yaml", "-o", "both.yaml")[0] == 2


def test_another_content_is_another_treatment(say: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(API)
    assert say("init", "--openapi", "api.yaml")[0] == 0
    first = read_plan(tmp_path / "study.yaml")[1].treatments[0].id
    file = tmp_path / "study.workload.yaml"
    file.write_text(file.read_text().replace("limit=20", "limit=50"))
    assert read_plan(tmp_path / "study.yaml")[1].treatments[0].id != first
    file.write_text(file.read_text().replace("path: /v1", "path: v1"))
    with pytest.raises(InputError, match=r"study\.workload\.yaml:\d+: operations"):
        read_plan(tmp_path / "study.yaml")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text("openapi: 3.0.0\npaths: {/a: {get: {parameters: [1]}}}\n")
    with pytest.raises(InputError, match=r"api\.yaml: is not as its format says"):
        openapi.workload(tmp_path / "api.yaml")
    (tmp_path / "visit.har").write_text('{"log": {"entries": [{"request": {}}]}}')
    with pytest.raises(InputError, match=r"visit\.har: is not as its format says"):
        har.workload(tmp_path / "visit.har")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("api.json", '{"a":' * 100_000, "api.json: is nested too deeply"),
        ("api.json", '{"openapi": "3",\n"paths": {"/a": {', "api.json:2: not valid JSON: Expecting"),
        ("api.json", '{"openapi": 3, "paths":\n{"/a": {},\n"/a": {}}}', "api.json:3: paths./a: '/a' is given twice"),
        ("api.yaml", 'openapi: 3\npaths: {/a: {$ref: "#/paths/~1a"}}', "api.yaml: #/paths/~1a: refers to itself"),
        ("api.yaml", 'openapi: 3\npaths: {/a: {$ref: "b.yaml"}}', "api.yaml: b.yaml: only references within the file"),
        ("api.yaml", "openapi: 3\npaths: {/a b: {get: {}}}", "api.yaml: operations./a-b.path: '/a b' cannot be used"),
    ],
)
def test_a_message_names_the_file_that_was_given(say: RunCommand, name: str, content: str, message: str) -> None:
    Path(name).write_text(content)
    code, _, complaint = say("init", "http://h", "--openapi", name)
    assert code == 2 and complaint.startswith(f"error: {message}"), complaint
    assert [file.name for file in Path().iterdir() if file.name.startswith("study")] == []


def test_a_path_without_anything_and_a_cookie_that_is_needed(tmp_path: Path) -> None:
    cookie = "{in: cookie, name: shop, required: true, example: tea}"
    (tmp_path / "api.yaml").write_text(f"openapi: 3\npaths: {{/a: , /b: {{get: {{parameters: [{cookie}]}}}}}}\n")
    found = openapi.workload(tmp_path / "api.yaml")
    assert found.workload["operations"] == {"/b": {"path": "/b", "headers": {"Cookie": "shop=tea"}}}


def test_a_server_of_a_recording_has_one_name(tmp_path: Path) -> None:
    urls = ("http://prod:80/x", "http://PROD/x", "http://me:secret@prod/x", "http://other/y", "http://other/y")
    file = archive(tmp_path, *(entry("GET", url) for url in urls))
    found = har.workload(file)
    assert (found.url, found.workload["operations"]) == ("http://prod", {"/x": {"weight": 3, "path": "/x"}})
    assert any("credentials are left out" in note for note in found.notes)
    assert list(har.workload(file, "http://Other:80/").workload["operations"]) == ["/y"]
    instead = "nothing went to http://127.0.0.1:8080, so it gets what went to http://prod"
    assert any(instead in note for note in har.workload(file, "http://127.0.0.1:8080").notes)


def test_headers_that_are_there_twice_and_what_is_no_text(tmp_path: Path) -> None:
    twice = entry("GET", "http://h/a")
    twice["request"]["headers"] = [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}]
    found = har.workload(archive(tmp_path, twice, entry("POST", "http://h/b", 200, "\ud83d")))
    assert found.workload["operations"] == {"/a": {"weight": 1, "path": "/a", "headers": {"X-A": "1, 2"}}}
    assert any("(POST /b): they have a half of a character" in note for note in found.notes)


def test_a_recording_may_be_called_like_a_workload_that_is_there(say: RunCommand, tmp_path: Path) -> None:
    archive(tmp_path, entry("GET", "http://h/a")).rename(tmp_path / "get.har")
    assert say("init", "--har", "get.har")[0] == 0
    assert read_plan(tmp_path / "study.yaml")[1].study.workload is None
