"""Docker engines through the official client and the official command line, with errors that a user can act on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import requests
from docker import APIClient
from docker.errors import APIError, DockerException
from docker.utils import kwargs_from_env

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.failover import Unable, Unreachable
from loadstone.model.errors import DeploymentError

_ANSWER_S = 60
"""For one answer of an engine that has much to do; one that is not there refuses at once."""
_PING_S = 5
_WORK_S = 1800.0
"""For a command line that may pull images, start a whole application and wait for it, or stop one."""
_TLS = ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")
_KEPT = ("PATH", "HOME", "USER", "LANG", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR")


@dataclass(frozen=True)
class Engine:
    """One Docker engine by its URL (``unix://``, ``tcp://``, ``ssh://``); connects on first use.

    Certificates for ``tcp://`` are found as Docker's own client does it: DOCKER_TLS_VERIFY, DOCKER_CERT_PATH.
    """

    url: str

    @cached_property
    def api(self) -> Any:
        """The official client, which has no type hints; raises DeploymentError where nothing answers."""
        with docker_errors(self.url):
            return self._client(_ANSWER_S)

    def silence(self, within_s: int = _PING_S) -> str | None:
        """Why the engine does not answer; None if it does."""
        try:
            with self.session(within_s):  # requests its version
                return None
        except DeploymentError as error:
            return str(error)

    @contextmanager
    def session(self, answer_s: int) -> Iterator[Any]:
        """The official client with more time for an answer; raises DeploymentError for what goes wrong meanwhile."""
        with docker_errors(self.url):
            client = self._client(answer_s)
            try:
                yield client
            finally:
                client.close()

    def _client(self, timeout: int) -> APIClient:
        environment = {"DOCKER_HOST": self.url, **self._secrets()}
        settings = kwargs_from_env(environment=environment)
        return APIClient(**settings, version="auto", timeout=timeout, use_ssh_client=self.url.startswith("ssh://"))

    def _secrets(self) -> dict[str, str]:
        names = _TLS if self.url.startswith("tcp://") else ()
        return {name: os.environ[name] for name in names if name in os.environ}

    def run(
        self,
        *command: str,
        given: str = "",
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
        within_s: float = _WORK_S,
    ) -> str:
        """What a command line of Docker's prints, talking to this engine; raises DeploymentError in its words.

        ``variables`` are added to its environment. It ends with us: nothing would undo what it makes later.
        """
        if shutil.which(command[0]) is None:
            raise DeploymentError(f"{command[0]} is not installed")
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        done = subprocesses.run(
            subprocesses.with_us(command),
            within_s,
            input=given,
            env={**kept, **self._secrets(), **(variables or {}), "DOCKER_HOST": self.url},
            cwd=folder,
        )
        if done.returncode != 0:
            output = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()
            raise DeploymentError(f"`{' '.join(command[:3])}` failed: " + "\n  ".join(output[-5:]))
        return done.stdout


@contextmanager
def docker_errors(url: str) -> Iterator[None]:
    """Turn what goes wrong with an engine into a DeploymentError with the remedy, Unreachable or Unable."""
    try:
        yield
    except APIError as error:
        kind = Unable if error.is_server_error() else DeploymentError
        raise kind(f"Docker at {url}: {error.explanation or error}") from None
    except (DockerException, requests.RequestException, OSError) as error:
        raise _unreachable(url, error) from None


def _unreachable(url: str, error: Exception) -> Unreachable:
    text = f"{error!r} {error}"
    if "PermissionError" in text or "Permission denied" in text:
        return Unreachable(
            f"no permission to use Docker at {url}",
            "join its group (sudo usermod -aG docker $USER, then log in again), or run as root",
        )
    reason = "the engine does not answer"
    for word, meaning in _REASONS.items():
        if word in text:
            reason = meaning
    return Unreachable(
        f"no Docker engine at {url}: {reason}",
        "start it (sudo systemctl start docker), or choose another by DOCKER_HOST or `docker context use`",
    )


_REASONS = {
    "FileNotFoundError": "there is no such socket",
    "ConnectionRefusedError": "nothing listens there",
    "Connection refused": "nothing listens there",
    "NameResolutionError": "its name is not known",
    "timed out": "it does not answer in time",
    "certificate": "its certificate is not accepted, or it does not accept yours",
}


def command_line() -> str | None:
    """The path of the ``docker`` command; None where it is not installed."""
    return shutil.which("docker")
