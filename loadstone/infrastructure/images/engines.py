"""The engines that images are loaded into or pulled by: Docker's, and containerd as Kubernetes uses it."""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import APIError, ImageNotFound

from loadstone.infrastructure import docker_api, subprocesses
from loadstone.infrastructure.images.archive import full_name
from loadstone.model.errors import DeploymentError, PreflightError

PULLED_S = 1800.0
"""For an image of a gigabyte over a slow line."""
_PATIENCE_S = 600
"""For one answer: a large image on a slow disk."""
_NAMESPACE = "k8s.io"
"""Where Kubernetes looks for images in containerd."""
CTR_IS_MISSING = "`ctr` is missing, which loads images into containerd"
INSTALL_CTR = "sudo apt-get install containerd"


@dataclass(frozen=True)
class HeldImage:
    """An image that an engine holds. ``digest`` is what its registry calls it, empty if it never was in one."""

    id: str
    digest: str


class CannotPull(Exception):
    """An engine's words why it could not pull an image."""


class ImageEngine(ABC):
    """One node's engine; everything raises PreflightError where it does not answer."""

    def __init__(self, node: str, address: str) -> None:
        self.node = node
        self.address = address

    @abstractmethod
    def find(self, reference: str) -> HeldImage | None:
        """The image of that name, if it is there."""

    @abstractmethod
    def load(self, file: Path) -> None:
        """Take an archive's image."""

    @abstractmethod
    def pull(self, reference: str, plain: bool) -> None:
        """Fetch an image from its registry, over HTTP if ``plain``; raises CannotPull."""


def engine(node: str, address: str) -> ImageEngine:
    """The engine at a Docker URL, or at the path of a containerd socket."""
    return DockerImages(node, address) if "://" in address else ContainerdImages(node, address)


class DockerImages(ImageEngine):
    """Docker's engine, through its API."""

    def find(self, reference: str) -> HeldImage | None:
        with self._session() as api:
            try:
                image = api.inspect_image(reference)
            except ImageNotFound:
                return None
            digests = image.get("RepoDigests") or [""]
            return HeldImage(str(image["Id"]), digests[0].rpartition("@")[2])

    def load(self, file: Path) -> None:
        with self._session() as api, file.open("rb") as content:
            for event in api.load_image(content):
                if "error" in event:
                    raise PreflightError(f"the Docker engine of {self.node} cannot load {file}: {event['error']}")

    def pull(self, reference: str, plain: bool) -> None:
        with self._session() as api:  # which registries it trusts without TLS is the engine's own setting
            name, tag = _split(reference)
            try:
                for event in api.pull(name, tag, stream=True, decode=True):
                    if "error" in event:
                        raise CannotPull(event["error"])
            except APIError as error:
                raise CannotPull(error.explanation or str(error)) from None

    @contextmanager
    def _session(self) -> Iterator[Any]:
        try:
            with docker_api.Engine(self.address).session(_PATIENCE_S) as api:
                yield api
        except DeploymentError as error:
            raise PreflightError(f"{self.node}: {error}") from None


def _split(reference: str) -> tuple[str, str]:
    """Name and tag, as the API wants them; a digest stands in the tag's place."""
    if "@" in reference:
        name, _, digest = reference.partition("@")
        return name, digest
    name, _, tag = full_name(reference).rpartition(":")
    return name, tag


class ContainerdImages(ImageEngine):
    """containerd, through its own command line."""

    def find(self, reference: str) -> HeldImage | None:
        listed = self._ctr("images", "ls", f"name=={full_name(reference)}").splitlines()[1:]
        if not listed:
            return None
        digest = listed[0].split()[2]
        return HeldImage(self._config(digest), digest)

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
