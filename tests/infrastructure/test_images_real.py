"""Images in a real Docker engine: it takes them, what runs in them answers, a registry gives them back."""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access
from loadstone.infrastructure.images import archive
from loadstone.model.errors import PreflightError
from loadstone.model.software import STORE_PASSWORD, built_in
from tests.infrastructure.image_files import image_id
from tests.infrastructure.real_engines import WITHIN_S, docker_engine, need, packageable, registry, short_folder, until

pytestmark = [pytest.mark.docker, pytest.mark.root]

SECOND = 10**9


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    need()
    with short_folder() as made:
        yield made


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[str]:
    with docker_engine(folder) as url:
        yield url


@pytest.fixture(scope="module")
def client(engine: str) -> Iterator[docker.DockerClient]:
    made = docker.DockerClient(base_url=engine, version="auto", timeout=int(WITHIN_S))
    yield made
    made.close()


@pytest.fixture(scope="module")
def whats(folder: Path) -> list[str]:
    return packageable()


@pytest.fixture(scope="module")
def delivered(engine: str, whats: list[str]) -> dict[str, images.Delivered]:
    return images.deliver(Access("docker", engines={"worker-1": engine}), whats)


def test_engines_call_images_by_the_ids_that_we_know(
    client: docker.DockerClient, delivered: dict[str, images.Delivered]
) -> None:
    for what, image in delivered.items():
        assert image.reference == images.reference(what)
        assert image.id == image_id(what) == client.images.get(image.reference).id
    layers = {what: client.images.get(each.reference).attrs["RootFS"]["Layers"] for what, each in delivered.items()}
    assert {each[0] for each in layers.values()} == {layers["stone"][0]}, "all stand on the stone image"


def test_what_is_there_is_not_loaded_again(
    engine: str, client: docker.DockerClient, delivered: dict[str, images.Delivered]
) -> None:
    again = images.deliver(Access("docker", engines={"worker-1": engine}), list(delivered))
    assert again == delivered
    seen = client.events(since=1, until=int(time.time()) + 1, filters={"type": "image", "event": "load"}, decode=True)
    assert len(list(seen)) == len(delivered)


@pytest.fixture
def run(client: docker.DockerClient) -> Iterator[Callable[..., Any]]:
    """Start a container of an image with its health check, wait until it is healthy; removed after the test."""
    started = []

    def start(reference: str, port: int, check: str, **more: Any) -> tuple[Any, int]:
        container = client.containers.run(
            reference,
            detach=True,
            read_only=more.pop("read_only", False),
            ports={f"{port}/tcp": ("127.0.0.1", None)},
            healthcheck={"test": ["CMD", "/stone", "ready", check], "interval": SECOND, "timeout": 60 * SECOND},
            **more,
        )
        started.append(container)

        def healthy() -> bool:
            container.reload()
            assert container.status == "running", container.logs().decode()
            return bool(container.attrs["State"]["Health"]["Status"] == "healthy")

        until(healthy, f"{reference} to be healthy")
        return container, int(container.ports[f"{port}/tcp"][0]["HostPort"])

    yield start
    for container in started:
        container.remove(force=True)


def start_store(run: Callable[..., Any], delivered: dict[str, images.Delivered], what: str) -> tuple[Any, int]:
    """As an orchestrator starts it: with the command and environment of software.yaml, limits, and a read-only root
    where the store keeps nothing on disk."""
    if what not in delivered:
        pytest.skip(f"needs {what}")
    software = built_in().software[what]
    container, port = run(
        delivered[what].reference,
        software.port,
        f"tcp://127.0.0.1:{software.port}",
        command=software.container.command,
        environment={
            name: value.replace(STORE_PASSWORD, "hunter2") for name, value in software.container.environment.items()
        },
        mem_limit="128m",
        nano_cpus=SECOND // 2,
        read_only=what != "postgres",
    )
    owner = "999" if what == "postgres" else "65534"
    assert {process[1] for process in container.top(ps_args="-o pid,uid,comm")["Processes"]} == {owner}
    return container, port


def talk(port: int, sent: bytes, end: bytes) -> bytes:
    """What a server answers, up to ``end``."""
    with socket.create_connection(("127.0.0.1", port), WITHIN_S) as connection:
        connection.sendall(sent)
        answer = b""
        while end not in answer:
            data = connection.recv(4096)
            assert data, f"closed after {answer!r}"
            answer += data
        return answer


def test_stone_serves(run: Callable[..., Any], delivered: dict[str, images.Delivered]) -> None:
    container, port = run(
        delivered["stone"].reference,
        8000,
        "http://127.0.0.1:8000/",
        command=["echo", "--listen", "0.0.0.0:8000"],
        read_only=True,
    )
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WITHIN_S)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()
    refused = container.exec_run(["/stone", "ready", "tcp://127.0.0.1:9"], user="65534:65534")
    assert (refused.exit_code, refused.output) == (1, b"tcp://127.0.0.1:9 does not accept: connection refused\n")
    container.stop(timeout=60)
    container.reload()
    assert container.attrs["State"]["ExitCode"] == 0


def test_memcached_answers(run: Callable[..., Any], delivered: dict[str, images.Delivered]) -> None:
    _, port = start_store(run, delivered, "memcached")
    assert talk(port, b"set k 0 0 5\r\nhello\r\nget k\r\n", b"END\r\n") == b"STORED\r\nVALUE k 0 5\r\nhello\r\nEND\r\n"
    settings = talk(port, b"stats settings\r\n", b"END\r\n")
    assert b"STAT num_threads 2\r\n" in settings
    assert b"STAT udpport 0\r\n" in settings


def test_redis_answers(run: Callable[..., Any], delivered: dict[str, images.Delivered]) -> None:
    _, port = start_store(run, delivered, "redis")
    assert talk(port, b"GET k\r\n", b"\r\n").startswith(b"-NOAUTH")
    login = b"AUTH hunter2\r\n"
    assert talk(port, login + b"SET k hello\r\nGET k\r\n", b"hello\r\n") == b"+OK\r\n+OK\r\n$5\r\nhello\r\n"
    assert talk(port, login + b"CONFIG GET save\r\nCONFIG GET appendonly\r\n", b"no\r\n").endswith(
        b"$0\r\n\r\n*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"
    )


def test_postgres_answers(run: Callable[..., Any], delivered: dict[str, images.Delivered]) -> None:
    container, port = start_store(run, delivered, "postgres")

    def sql(query: str, database: str = "postgres") -> str:
        address = f"postgres://postgres:hunter2@127.0.0.1:{port}/{database}"
        result = subprocess.run(["psql", "-XAtc", query, address], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr + container.logs().decode()
        return result.stdout.strip()

    if shutil.which("psql") is None:
        pytest.skip("needs psql")
    sql("CREATE DATABASE shop")
    sql("CREATE TABLE items (key text PRIMARY KEY, body jsonb)", "shop")
    sql("""INSERT INTO items VALUES ('a', '{"name": "Zürich"}')""", "shop")
    assert sql("SELECT body->>'name' FROM items", "shop") == "Zürich"
    assert sql("SHOW fsync") == "off"
    assert sql("SHOW wal_segment_size") == "4MB"
    # What a default database can load is there.
    assert sql("SELECT to_tsvector('english', 'running dogs')") == "'dog':2 'run':1"
    assert sql("SELECT extract(hour FROM '2024-07-01 12:00+00'::timestamptz AT TIME ZONE 'Europe/Amsterdam')") == "14"
    assert sql("DO $$ BEGIN NULL; END $$") == "DO"
    container.stop(timeout=60)
    assert b"database system is shut down" in container.logs()


def test_no_two_containers_share_what_they_write(
    run: Callable[..., Any], delivered: dict[str, images.Delivered]
) -> None:
    ports = [start_store(run, delivered, "postgres")[1] for _ in range(2)]
    address = "postgres://postgres:hunter2@127.0.0.1:{}/postgres"
    subprocess.run(["psql", "-Xqc", "CREATE TABLE mine (a int)", address.format(ports[0])], check=True)
    commands = [["psql", "-XAtc", r"\dt", address.format(port)] for port in ports]
    listed = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in commands]
    assert ["mine" in text for text in listed] == [True, False]


def test_a_pushed_image_comes_back_as_itself(
    engine: str, client: docker.DockerClient, folder: Path, whats: list[str]
) -> None:
    with registry(folder) as host:
        access = Access("swarm", engines={"worker-1": engine}, registry=f"{host}/lab")
        printed: list[str] = []
        first = images.deliver(access, ["stone"], printed.append)["stone"]
        digest = archive.read(images.build("stone")).manifest.digest
        assert first == images.Delivered(images.reference("stone", access), image_id("stone"), digest)
        assert printed[0] == f"{first.reference} is {digest}"
        assert client.images.get(first.reference).attrs["RepoDigests"] == [f"{host}/lab/stone@{digest}"]
        assert images.deliver(access, ["stone"])["stone"] == first

        # As a foreign image it is pulled by its name, or by its digest; elsewhere there is none.
        client.images.remove(first.reference, force=True)
        plain = Access("docker", engines={"worker-1": engine})
        for name in (first.reference, f"{host}/lab/stone@{digest}"):
            assert images.deliver(plain, [name])[name] == images.Delivered(name, first.id, digest)
            client.images.remove(name, force=True)
        with pytest.raises(
            PreflightError, match=r"lab/stone:none cannot be pulled on worker-1: .*\n  see that the node"
        ):
            images.deliver(plain, [f"{host}/lab/stone:none"])
