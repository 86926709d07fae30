"""The engines that images are loaded into or pulled by: Docker's, and containerd as Kubernetes uses it."""

from __future__ import annotations

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.images.archive import full_name
from loadstone.model.errors import PreflightError

PULLED_S = 1800.0
"""For an image of a gigabyte over a slow line."""
_PATIENCE_S = 600
"""For one answer: a large image on a slow disk."""
_NAMESPACE = "k8s.io"
"""Where Kubernetes looks for images in containerd."""
CTR_IS_MISSING = "`ctr` is missing, which loads images into containerd"
INSTALL_CTR = "sudo apt-get install containerd"


@dataclass(frozen=True)
class Held:
    """An image that an engine holds. ``digest`` is what its registry calls it, empty if it never was in one."""

    id: str
    digest: str


class CannotPull(Exception):
    """An engine's words why it could not pull an image."""


class Engine(ABC):
    """One node's engine; everything raises PreflightError where it does not answer."""

    def __init__(self, node: str, address: str) -> None:
        self.node = node
        self.address = address

    @abstractmethod
    def find(self, reference: str) -> Held | None:
        """The image of that name, if it is there."""

    @abstractmethod
    def load(self, file: Path) -> None:
        """Take an archive's image."""

    @abstractmethod
    def pull(self, reference: str, plain: bool) -> None:
        """Fetch an image from its registry, over HTTP if ``plain``; raises CannotPull."""


def engine(node: str, address: str) -> Engine:
    """The engine at a Docker URL, or at the path of a containerd socket."""
    return Docker(node, address) if "://" in address else Containerd(node, address)


class Docker(Engine):
    """Docker's engine, through its API; certificates as Docker's own client finds them."""

    def find(self, reference: str) -> Held | None:
        with self._client() as client:
            try:
                image = client.images.get(reference)
            except ImageNotFound:
                return None
            digests = image.attrs.get("RepoDigests") or [""]
            return Held(str(image.id), digests[0].rpartition("@")[2])

    def load(self, file: Path) -> None:
        with self._client() as client, file.open("rb") as content:
            client.images.load(content)

    def pull(self, reference: str, plain: bool) -> None:
        with self._client() as client:  # which registries it trusts without TLS is the engine's own setting
            try:
                client.images.pull(*_split(reference))
            except APIError as error:
                raise CannotPull(error.explanation or str(error)) from None

    @contextmanager
    def _client(self) -> Iterator[Any]:
        try:
            environment = {**os.environ, "DOCKER_HOST": self.address}
            over_ssh = self.address.startswith("ssh://")
            client = docker.DockerClient.from_env(
                version="auto", timeout=_PATIENCE_S, use_ssh_client=over_ssh, environment=environment
            )
            try:
                yield client
            finally:
                client.close()
        except (DockerException, requests.RequestException, OSError) as error:
            what, remedy = _in_words(str(error))
            raise PreflightError(f"the Docker engine of {self.node} ({self.address}) {what}", remedy) from None


def _in_words(error: str) -> tuple[str, str]:
    """What went wrong with an engine, and what to do."""
    if "PermissionError" in error:
        return "may not be used by you", "join the group of its socket (usually docker), or be root"
    if "FileNotFoundError" in error or "ConnectionRefusedError" in error:
        return "is not running", "start it: sudo systemctl start docker"
    return f"failed: {error}", "its log says more"


def _split(reference: str) -> tuple[str, str]:
    """Name and tag, as the API wants them; a digest stands in the tag's place."""
    if "@" in reference:
        name, _, digest = reference.partition("@")
        return name, digest
    name, _, tag = full_name(reference).rpartition(":")
    return name, tag


class Containerd(Engine):
    """containerd, through its own command line."""

    def find(self, reference: str) -> Held | None:
        listed = self._ctr("images", "ls", f"name=={full_name(reference)}").splitlines()[1:]
        if not listed:
            return None
        digest = listed[0].split()[2]
        return Held(self._config(digest), digest)

    def _config(self, digest: str) -> str:
        """The digest of the configuration, which is what Kubernetes and Docker call an image by."""
        manifest = json.loads(self._ctr("content", "get", digest))
        if "config" in manifest:
            return str(manifest["config"]["digest"])
        for platform in manifest["manifests"]:  # of all platforms; only one was pulled
            try:
                return self._config(platform["digest"])
            except PreflightError:
                continue
        raise PreflightError(f"containerd of {self.node} holds {digest} for no platform")

    def load(self, file: Path) -> None:
        self._ctr("images", "import", str(file), within_s=subprocesses.time_to_copy(file))

    def pull(self, reference: str, plain: bool) -> None:
        try:
            self._ctr("images", "pull", *(["--plain-http"] if plain else []), full_name(reference), within_s=PULLED_S)
        except PreflightError as error:
            raise CannotPull(str(error)) from None

    def _ctr(self, *arguments: str, within_s: float = subprocesses.QUICK_S) -> str:
        if (ctr := shutil.which("ctr")) is None:
            raise PreflightError(CTR_IS_MISSING, INSTALL_CTR)
        command = [ctr, "--address", self.address, "--namespace", _NAMESPACE, *arguments]
        result = subprocesses.run(command, within_s)
        if result.returncode != 0:
            output = (result.stderr or result.stdout).strip().splitlines()
            reason = output[-1] if output else f"`ctr` exits with {result.returncode}"
            raise PreflightError(f"containerd of {self.node} ({self.address}) failed: {reason}")
        return result.stdout
