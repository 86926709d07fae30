"""A container of ours in the network of a deployment: what is in it reaches every replica, whatever is published.

It waits for commands, has no port, and is made when the first one comes: anew where it is gone, on another engine where
its own does not answer. It ends with the deployment, whose label it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.docker_api import Engine, docker_errors
from loadstone.infrastructure.failover import Unreachable
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError

LABEL = "loadstone.inside"
"""The label of this container; its value is the deployment's name."""
_LIMITS = ("--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges")
_ANSWER_S = 30.0


class Inside:
    """A place; ``labels`` are those of the deployment, ``engines`` the URLs of those that can have the container."""

    stone = "/stone"

    def __init__(self, deployment: Deployment, network: str, labels: dict[str, str], engines: Iterable[str]) -> None:
        self._name = deployment.name
        self._image = deployment.images.get("stone", "")
        self._network = network
        self._labels = labels | {LABEL: deployment.name}
        self._engines = [Engine(url) for url in dict.fromkeys(engines)]
        self._delivered: dict[tuple[str, Path], str] = {}

    def command(self, argv: Sequence[str]) -> list[str]:
        engine, container = self._container()
        return ["docker", "--host", engine.url, "exec", "--interactive", container, *argv]

    def deliver(self, program: Path) -> str:
        engine, container = self._container()
        if (container, program) not in self._delivered:
            there = f"/{len(self._delivered)}-{program.name}"
            engine.run("docker", "cp", str(program), f"{container}:{there}")
            self._delivered[container, program] = there
        return self._delivered[container, program]

    def why_not_ready(self, url: str) -> str:
        """Why a server does not answer (URLs as of ``stone ready``); empty if it does."""
        try:
            done = subprocesses.run(self.command([self.stone, "ready", url]), _ANSWER_S)
        except subprocesses.OutOfTime as error:
            return str(error)
        complaints = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
        return complaints[0] if done.returncode != 0 else ""

    def _container(self) -> tuple[Engine, str]:
        """Where it runs, and its id. Raises Unreachable where no engine answers."""
        there = [engine for engine in self._engines if engine.silence() is None]
        if not there:
            raise Unreachable(f"{self._name}: no Docker engine answers that could reach its replicas")
        for engine in there:
            with docker_errors(engine.url):
                for container in engine.api.containers(filters={"label": f"{LABEL}={self._name}"}):
                    return engine, str(container["Id"])
        labels = [f"--label={key}={value}" for key, value in self._labels.items()]
        run = ("docker", "run", "--detach", f"--network={self._network}", *labels, *_LIMITS, self._image, "wait")
        return there[0], there[0].run(*run).split()[-1]


def remove(engines: Iterable[Engine], label: str) -> list[str]:
    """Remove those of deployments with this label; returns what was there. What an engine does not do now is left."""
    found = []
    for engine in engines:
        try:
            with docker_errors(engine.url):
                for container in engine.api.containers(all=True, filters={"label": [label, LABEL]}):
                    engine.api.remove_container(container["Id"], force=True)
                    found.append(f"container {container['Id'][:12]}")
        except DeploymentError:
            continue
    return found
