"""Engines and a registry of a test's own: started in folders of theirs, ended by their ids, with nothing left."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from loadstone.infrastructure import images
from loadstone.infrastructure.binary import stone_binary
from tests.support import groups

STORES = ["memcached", "redis", "postgres"]
WITHIN_S = 300.0


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for a condition; only a machine where it never comes true fails here."""
    deadline = time.monotonic() + WITHIN_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)
    return found


class Daemon:
    """A daemon in a mount namespace of its own, which ends with it: nothing stays mounted. Files in ``folder``."""

    def __init__(self, folder: Path, prepare: str, argv: list[str]) -> None:
        self.log = folder / "log"
        # The kernel ends it if the tests are killed.
        alone = ["setpriv", "--pdeathsig", "TERM", "unshare", "--mount", "--propagation", "private"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*alone, "sh", "-c", f'{prepare}\nexec "$@"', "sh", *argv], stdout=log, stderr=log
            )

    def answers(self, request: Callable[[], Any]) -> bool:
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        with contextlib.suppress(Exception):
            request()
            return True
        return False

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def need(*programs: str) -> None:
    """Skip where a program or a right lacks."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")


@contextlib.contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a short path, as the names of sockets are limited; images are made anew in its cache."""
    folder = Path(tempfile.mkdtemp(prefix="ls-images-", dir="/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield folder
    shutil.rmtree(folder)


def packageable() -> list[str]:
    """What can be packaged here: ``stone`` and some stores."""
    help_text = subprocess.run([stone_binary(), "ready", "--help"], capture_output=True, text=True, check=False).stdout
    if "usage: stone ready" not in help_text:
        pytest.skip(f"{stone_binary()} is too old; run `make setup`")
    return ["stone", *(what for what in STORES if images.findings([what])[0].level == "ok")]


@contextlib.contextmanager
def docker_engine(folder: Path) -> Iterator[str]:
    """The URL of a Docker engine, with a bridge of its own and no rules in any firewall."""
    need("dockerd", "containerd", "runc", "ip", "unshare")
    here = folder / "docker"
    here.mkdir()
    bridge, group = f"lsimg{os.getpid()}", f"loadstone-test-images-{os.getpid()}"
    link = ["ip", "link"]
    subprocess.run([*link, "add", bridge, "type", "bridge"], check=True)
    subprocess.run(["ip", "address", "add", f"10.213.{os.getpid() % 250}.1/24", "dev", bridge], check=True)
    subprocess.run([*link, "set", bridge, "up"], check=True)
    url = f"unix://{here}/sock"
    options = ["--data-root", here / "data", "--exec-root", here / "run", "--pidfile", here / "pid", "--host", url]
    no_rules = ["--bridge", bridge, "--iptables=false", "--ip-forward=false", "--ip-masq=false"]
    private = "mkdir -p /run/docker && mount -t tmpfs tmpfs /run/docker"
    daemon = Daemon(here, private, ["dockerd", *map(str, options), *no_rules, "--cgroup-parent", f"/{group}"])
    client = docker.DockerClient(base_url=url, version="1.40", timeout=int(WITHIN_S))
    try:
        until(lambda: daemon.answers(client.ping), "dockerd")
        yield url
        for container in client.containers.list(all=True):
            container.remove(force=True)
    finally:
        client.close()
        daemon.stop()
        subprocess.run([*link, "delete", bridge], check=False)
        for left in groups.matching(group):
            left.rmdir()


@contextlib.contextmanager
def containerd(folder: Path) -> Iterator[str]:
    """The path of a containerd's socket."""
    need("containerd", "ctr", "runc", "unshare")
    here = folder / "containerd"
    here.mkdir()
    place = here / "sock"
    (here / "config.toml").write_text(
        f'version = 2\nroot = "{here}/root"\nstate = "{here}/state"\n'
        f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{place}"\n'
    )
    daemon = Daemon(here, ":", ["containerd", "--config", str(here / "config.toml")])
    try:
        until(lambda: daemon.answers(lambda: ctr(str(place), "version")), "containerd")
        yield str(place)
    finally:
        daemon.stop()


def ctr(place: str, *arguments: str) -> str:
    """What containerd's command line prints."""
    command = ["ctr", "--address", place, "--namespace", "k8s.io", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@contextlib.contextmanager
def registry(folder: Path, address: str = "127.0.0.1") -> Iterator[str]:
    """``127.0.0.1:port`` of a registry."""
    need("docker-registry", "unshare")
    here = folder / "registry"
    here.mkdir()
    with socket.socket() as free:
        free.bind((address, 0))
        host = f"{address}:{free.getsockname()[1]}"
    settings = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(here / "data")}},
        "http": {"addr": host, "secret": uuid.uuid4().hex},
    }
    (here / "config.yml").write_text(json.dumps(settings))
    daemon = Daemon(here, ":", ["docker-registry", "serve", str(here / "config.yml")])

    def ask() -> None:
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("GET", "/v2/")
        assert connection.getresponse().status == 200
        connection.close()

    try:
        until(lambda: daemon.answers(ask), "docker-registry")
        yield host
    finally:
        daemon.stop()
