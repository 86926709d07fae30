"""Images into engines and registries: what is there stays, what differs or cannot be had is reported."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access
from loadstone.infrastructure.images import archive, delivery, engines
from loadstone.infrastructure.images.engines import CannotPull, HeldImage, ImageEngine
from loadstone.infrastructure.images.registry import Registry
from loadstone.model.errors import PreflightError
from tests.infrastructure.image_files import image_id


@dataclass
class Cluster:
    """What the engines of a made-up cluster hold, and their calls."""

    held: dict[str, dict[str, HeldImage]] = field(default_factory=dict)
    registry: dict[str, HeldImage] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    manifests: bool = False
    """Engines call images by their manifests."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def access(self, **more: Any) -> Access:
        return Access("docker", engines={node: f"unix:///{node}" for node in self.held}, **more)


class MadeUp(ImageEngine):
    cluster: Cluster

    def find(self, reference: str) -> HeldImage | None:
        return self.cluster.held[self.node].get(reference)

    def load(self, file: Path) -> None:
        contents = archive.read(file)
        with self.cluster.lock:
            self.cluster.done.append(f"{self.node} loads {contents.reference}")
        digest = contents.manifest.digest if self.cluster.manifests else contents.config.digest
        self.cluster.held[self.node][contents.reference] = HeldImage(digest, "")

    def pull(self, reference: str, plain: bool) -> None:
        with self.cluster.lock:
            self.cluster.done.append(f"{self.node} pulls {reference}{' plainly' if plain else ''}")
        if reference not in self.cluster.registry:
            raise CannotPull("no such host")
        self.cluster.held[self.node][reference] = self.cluster.registry[reference]


@pytest.fixture
def cluster(stone: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Two nodes whose engines hold nothing."""
    made_up = Cluster({"worker-1": {}, "worker-2": {}})

    def engine(node: str, address: str) -> MadeUp:
        made = MadeUp(node, address)
        made.cluster = made_up
        return made

    monkeypatch.setattr(delivery, "engine", engine)
    return made_up


@pytest.mark.parametrize("manifests", [False, True])
def test_an_image_is_loaded_once_into_each_engine(cluster: Cluster, manifests: bool) -> None:
    cluster.manifests = manifests
    name, contents = images.reference("stone"), archive.read(images.build("stone"))
    printed: list[str] = []
    for _ in range(2):
        delivered = images.deliver(cluster.access(), ["stone"], printed.append)
        wanted = contents.manifest.digest if manifests else contents.config.digest
        assert delivered == {"stone": images.Delivered(name, wanted, "")}
    assert sorted(cluster.done) == [f"worker-1 loads {name}", f"worker-2 loads {name}"]
    assert printed == ["images of stone into 2 engines"] * 2


def test_another_image_of_the_same_name_is_replaced(cluster: Cluster) -> None:
    name = images.reference("stone")
    cluster.held["worker-2"][name] = HeldImage("sha256:old", "")
    assert images.deliver(cluster.access(), ["stone"])["stone"].id == image_id("stone")
    assert sorted(cluster.done) == [f"worker-1 loads {name}", f"worker-2 loads {name}"]


def test_an_engine_that_loses_what_it_loads_is_reported(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MadeUp, "load", lambda self, file: None)
    with pytest.raises(PreflightError, match=r"engine of worker-1 took .*\.tar, but has no loadstone/stone:"):
        images.deliver(cluster.access(), ["stone"])


def test_foreign_and_official_images_are_pulled_where_they_are_not(cluster: Cluster) -> None:
    cluster.registry = {
        "nginx:1.25": HeldImage("sha256:1", "sha256:d1"),
        "redis:7.0": HeldImage("sha256:2", "sha256:d2"),
    }
    cluster.held["worker-1"]["nginx:1.25"] = cluster.registry["nginx:1.25"]
    delivered = images.deliver(cluster.access(images="official"), ["nginx:1.25", "redis"])
    assert delivered == {
        "nginx:1.25": images.Delivered("nginx:1.25", "sha256:1", "sha256:d1"),
        "redis": images.Delivered("redis:7.0", "sha256:2", "sha256:d2"),
    }
    assert sorted(cluster.done) == ["worker-1 pulls redis:7.0", "worker-2 pulls nginx:1.25", "worker-2 pulls redis:7.0"]


def test_nodes_with_different_images_of_a_name_are_refused(cluster: Cluster) -> None:
    cluster.held["worker-1"]["nginx:1.25"] = HeldImage("sha256:1", "sha256:d1")
    cluster.held["worker-2"]["nginx:1.25"] = HeldImage("sha256:2", "sha256:d2")
    printed = "different images called nginx:1.25: worker-1 has sha256:d1; worker-2 has sha256:d2\n  remove it"
    with pytest.raises(PreflightError, match=printed):
        images.deliver(cluster.access(), ["nginx:1.25"])


@pytest.mark.parametrize(
    ("what", "name", "remedy"),
    [("redis", "redis:7.0", "set `cluster.images: packaged`"), ("a/b:1", "a/b:1", "see that the node reaches")],
)
def test_what_cannot_be_pulled_names_the_remedy(cluster: Cluster, what: str, name: str, remedy: str) -> None:
    with pytest.raises(PreflightError, match=f"{name} cannot be pulled on worker-1: no such host\n  {remedy}"):
        images.deliver(cluster.access(images="official"), [what])


def test_without_engines_a_registry_is_needed(stone: Path) -> None:
    with pytest.raises(PreflightError, match=r"no engine of the cluster .*\n  set `cluster\.registry`"):
        images.deliver(Access("kubernetes"), ["stone"])
    foreign = images.deliver(Access("kubernetes"), ["nginx:1.25"])
    assert foreign == {"nginx:1.25": images.Delivered("nginx:1.25")}


def test_an_engine_that_does_not_run_is_reported(stone: Path, tmp_path: Path) -> None:
    access = Access("docker", engines={"worker-1": f"unix://{tmp_path}/no.sock"})
    with pytest.raises(
        PreflightError, match=r"worker-1: no Docker engine at unix://.*: there is no such socket\n  start it"
    ):
        images.deliver(access, ["stone"])


def test_containerd_without_its_command_line_is_reported(stone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    access = Access("kubernetes", engines={"worker-1": "/run/no.sock"})
    assert images.findings([], access)[0].message == "`ctr` is missing, which loads images into containerd"
    with pytest.raises(PreflightError, match="`ctr` is missing"):
        engines.engine("worker-1", "/run/no.sock").find("x:1")


# Registries


class Place(ThreadingHTTPServer):
    """As much of a registry as a push needs; it wants a token, which wants a name and a password."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.requested: list[str] = []
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}
        self.challenge = 'Bearer realm="http://{host}/token",service="here"'

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    server: Place

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/token":
            self.server.requested.append(f"token {self.headers.get('Authorization')} {parse_qs(url.query)}")
            self._answer(200, json.dumps({"token": "t0k3n"}).encode())
        elif self._signed_in():
            found = self.server.manifests.get(url.path)
            self._answer(200 if found or url.path == "/v2/" else 404, found or b"")

    def do_HEAD(self) -> None:
        if self._signed_in():
            self._answer(200 if self.path.rpartition("/")[2] in self.server.blobs else 404, b"")

    def do_POST(self) -> None:
        if self._signed_in():
            self._answer(202, b"", Location="/upload?state=1")

    def do_PUT(self) -> None:
        if self._signed_in():
            url, body = urlsplit(self.path), self.rfile.read(int(self.headers["Content-Length"]))
            if url.path == "/upload":
                self.server.blobs[parse_qs(url.query)["digest"][0]] = body
            else:
                self.server.manifests[url.path] = body
            self._answer(201, b"")

    def _signed_in(self) -> bool:
        given = self.headers.get("Authorization", "")
        basic = "Basic " + base64.b64encode(b"ann:s3cret").decode()
        if given == ("Bearer t0k3n" if self.server.challenge.startswith("Bearer") else basic):
            return True
        self._answer(401, b"", **{"WWW-Authenticate": self.server.challenge.format(host=self.server.host)})
        return False

    def _answer(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *what: Any) -> None:
        pass


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    server = Place()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    yield server
    server.shutdown()
    server.server_close()


def sign_in(host: str) -> None:
    """What ``docker login`` leaves."""
    folder = Path(os.environ["DOCKER_CONFIG"])
    folder.mkdir()
    known = {"auths": {host: {"auth": base64.b64encode(b"ann:s3cret").decode()}}}
    (folder / "config.json").write_text(json.dumps(known))


@pytest.mark.parametrize("challenge", ['Bearer realm="http://{host}/token",service="here"', 'Basic realm="here"'])
def test_a_push_signs_in_as_docker_is_signed_in(place: Place, stone: Path, challenge: str) -> None:
    place.challenge = challenge
    sign_in(place.host)
    file = images.build("stone")
    contents = archive.read(file)
    access = Access("kubernetes", registry=f"{place.host}/lab")
    printed: list[str] = []
    delivered = images.deliver(access, ["stone"], printed.append)["stone"]
    tag = images.reference("stone").rpartition(":")[2]
    digest = contents.manifest.digest
    assert delivered == images.Delivered(f"{place.host}/lab/stone:{tag}", contents.config.digest, digest)
    assert printed == [f"{delivered.reference} is {digest}"]
    assert set(place.blobs) == {contents.config.digest, contents.layers[0].digest}
    assert f"/v2/lab/stone/manifests/{tag}" in place.manifests
    if challenge.startswith("Bearer"):
        basic = base64.b64encode(b"ann:s3cret").decode()
        assert place.requested == [
            f"token Basic {basic} {{'service': ['here'], 'scope': ['repository:lab/stone:pull,push']}}"
        ]

    # What is there is not sent again, and is what counts.
    place.blobs.clear()
    assert images.deliver(access, ["stone"])["stone"] == delivered
    assert place.blobs == {}


@pytest.mark.parametrize(
    ("registry", "realm", "sent"),
    [
        ("registry-1.docker.io", "https://auth.docker.io/token", True),
        ("registry.gitlab.com", "https://gitlab.com/jwt/auth", True),
        ("ghcr.io", "https://ghcr.io/token", True),
        ("http://10.0.0.1:5000", "http://10.0.0.1:5001/token", True),
        ("registry.example.org", "https://evil.example.net/token", False),
        ("registry.example.org", "http://auth.example.org/token", False),
        ("registry.example.org", "http://registry.example.org/token", False),
        ("registry.example.org", "https://registry.example.org.evil.net/token", False),
        ("registry.example.org", "https://evilexample.org/token", False),
        ("10.0.0.1:5000", "https://10.0.0.2/token", False),
    ],
)
def test_a_password_goes_to_the_domain_of_its_registry_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, registry: str, realm: str, sent: bool
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    there = Registry(registry)
    sign_in(there.host)
    requested: list[Any] = []

    def answer(method: str, url: str, **more: Any) -> requests.Response:
        requested.append((url, more.get("auth")))
        given = requests.Response()
        given.status_code = 200 if len(requested) > 1 else 401
        given.headers["WWW-Authenticate"] = f'Bearer realm="{realm}",service="here"'
        given._content = b'{"token": "t"}'
        return given

    monkeypatch.setattr(there._session, "request", answer)
    if sent:
        there._sign_in("lab/stone")
        assert requested[-1] == (realm, ("ann", "s3cret"))
    else:
        with pytest.raises(PreflightError, match="which is another server; it was not sent"):
            there._sign_in("lab/stone")
        assert len(requested) == 1


def test_who_is_not_signed_in_may_not_push(place: Place, stone: Path) -> None:
    place.challenge = 'Basic realm="here"'
    with pytest.raises(
        PreflightError, match=rf"registry {place.host} takes no images under .*: 401\n  docker login {place.host}"
    ):
        images.deliver(Access("nomad", registry=place.host), ["stone"])


@pytest.mark.filterwarnings("ignore:docker-credential-absent")
@pytest.mark.parametrize("settings", [{"credsStore": "absent"}, {"auths": {"HOST": {"auth": "damaged"}}}])
def test_settings_of_docker_without_a_readable_password_are_reported(
    place: Place, stone: Path, settings: dict[str, Any]
) -> None:
    place.challenge = 'Basic realm="here"'
    sign_in(place.host)
    file = Path(os.environ["DOCKER_CONFIG"], "config.json")
    file.write_text(json.dumps(settings).replace("HOST", place.host))
    with pytest.raises(
        PreflightError, match=rf"{place.host} cannot be read from Docker's settings: .*\n  docker login"
    ):
        images.deliver(Access("nomad", registry=place.host), ["stone"])


def test_a_registry_that_is_not_there_is_reported(stone: Path) -> None:
    with pytest.raises(PreflightError, match=r"the registry 127\.0\.0\.1:1 cannot be reached: .*\n  see that it runs"):
        images.deliver(Access("nomad", registry="127.0.0.1:1"), ["stone"])


@pytest.mark.parametrize(
    ("name", "scheme", "prefix"),
    [
        ("registry.example.org:5000/lab", "https", "registry.example.org:5000/lab"),
        ("http://10.0.0.1:5000/", "http", "10.0.0.1:5000"),
        ("localhost:5000", "http", "localhost:5000"),
        ("localhost.example.org", "https", "localhost.example.org"),
        ("127.0.0.1/a/b", "http", "127.0.0.1/a/b"),
        ("https://127.0.0.1:5000", "https", "127.0.0.1:5000"),
    ],
)
def test_how_a_registry_is_named(name: str, scheme: str, prefix: str) -> None:
    assert (Registry(name).scheme, Registry(name).prefix) == (scheme, prefix)
