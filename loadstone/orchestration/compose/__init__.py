"""Replicas as services of Docker Compose on one engine: the plugin of version 2, or docker-compose 1.29."""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.base import Access, Finding
from loadstone.infrastructure.docker_api import Engine, docker_errors
from loadstone.model.deployment import Deployment, FoundReplica, Replica
from loadstone.model.errors import DeploymentError
from loadstone.model.units import PERIOD_US
from loadstone.orchestration import docker
from loadstone.orchestration.compose import project
from loadstone.orchestration.containers import LABEL, Containers
from loadstone.orchestration.docker import Tree, errors
from loadstone.orchestration.docker.engines import Engines
from loadstone.orchestration.docker.inside import Inside
from loadstone.orchestration.docker.readiness import FirstAnswers

_FILE = "compose.yaml"
_LONGEST_NAME = 60
_PROJECT_LABEL = "com.docker.compose.project"
_PATIENCE = {"COMPOSE_HTTP_TIMEOUT": "600"}
"""In seconds, of docker-compose 1.29: an engine on an emulated processor takes its time to start containers."""
_CANNOT_MOUNT = (
    "Compose mounts configuration files from the engine's own machine, which is not this one",
    "use an engine on this machine, or orchestrator: swarm",
)


@functools.cache
def command_line() -> tuple[str, ...] | None:
    """``docker compose`` where the plugin is installed, else ``docker-compose``, else None."""
    for command in (("docker", "compose"), ("docker-compose",)):
        if shutil.which(command[0]) is None:
            continue
        done = subprocesses.run([*command, "version"])
        if done.returncode == 0:
            return command
    return None


class Compose(Containers):
    """One project on one engine."""

    name = "compose"
    software = "docker"
    single_worker = True
    resolves_names = True
    beside_others = True
    expresses: ClassVar[Mapping[str, frozenset[str]]] = {"high_availability": frozenset({"off"})}

    # What is deployed

    def preflight(self) -> list[Finding]:
        findings = super().preflight()
        if command_line() is None:
            findings.append(
                Finding("compose", "error", "neither `docker compose` nor docker-compose is installed",
                        "sudo apt-get install -y docker-compose (or docker-compose-plugin)")
            )  # fmt: skip
        if self._cannot_mount():
            findings.append(Finding("compose", "error", *_CANNOT_MOUNT))
        return findings

    def _cannot_mount(self) -> bool:
        """Whether there are configuration files, which the engine does not find on its own machine."""
        elsewhere = not all(node.reach.local for node in self.deployment.nodes)
        return elsewhere and any(replica.configs for replica in self.deployment.replicas)

    def render(self) -> dict[str, str]:
        return docker.with_configs(self.deployment, _FILE, docker.dump(self._project()))

    def _project(self) -> Tree:
        services = {name: self._service(replicas) for name, replicas in self.deployment.services().items()}
        return {
            "services": services,
            "networks": {"default": {"labels": docker.labels(self.deployment)}},
        }

    def _service(self, replicas: list[Replica]) -> Tree:
        first = replicas[0]
        service = docker.service(self.deployment, first)
        files = docker.config_files(first)
        service |= {
            "scale": len(replicas),
            "volumes": [
                *({"type": "volume", "target": path} for path in first.volumes),
                *(
                    {"type": "bind", "source": f"./{files[path]}", "target": path, "read_only": True}
                    for path in first.configs
                ),
            ],
            "ports": [
                self._port(first, name, number) for name, number in docker.published(self.deployment, first).items()
            ],
            **self._limits(first),
            "restart": "always",
        }
        return {key: value for key, value in service.items() if value}

    def _port(self, replica: Replica, name: str, number: int | None) -> str:
        """Published where this machine reaches the node, and on no other of its addresses if it is this machine."""
        node = self.deployment.node(replica.node)
        address = node.address if node.reach.local else "0.0.0.0"
        return f"{address}:{number or ''}:{replica.ports[name]}"

    def _limits(self, replica: Replica) -> Tree:
        """In microseconds of each period, as the kernel counts: versions of Compose round a number of CPUs."""
        limits: Tree = {}
        if replica.resources.cpu is not None:
            limits |= {"cpu_period": PERIOD_US, "cpu_quota": round(replica.resources.cpu * PERIOD_US)}
        if replica.resources.memory is not None:
            memory = docker.memory(replica.resources.memory)
            limits |= {"mem_limit": memory, "memswap_limit": memory}
        return limits

    @classmethod
    def _entrance(cls, deployment: Deployment) -> dict[str, str]:
        return docker.entrance(deployment)

    @property
    def _project_name(self) -> str:
        return docker.fit(self.deployment.name, _LONGEST_NAME)

    # What is done

    def __init__(self, deployment: Deployment, folder: Path, access: Access | None = None) -> None:
        super().__init__(deployment, folder, access)
        self._engines = Engines(access)
        labels, engines = docker.labels(deployment), access.addresses[:1] if access is not None else ()
        self._inside = Inside(self.deployment, f"{self._project_name}_default", labels, engines)
        self._answers = FirstAnswers(deployment, self._inside.why_not_ready)
        self._started: dict[str, str] = {}

    @functools.cached_property
    def _engine(self) -> Engine:
        return Engine(self.cluster.addresses[0])

    def _create(self, services: list[str]) -> None:
        self._refuse_foreign()
        if self._cannot_mount():  # virtual machines that the study made were not there at preflight
            raise DeploymentError(*_CANNOT_MOUNT)
        if not self._find():
            docker.refuse_taken_ports(self.deployment, everywhere=False)
        docker.write(self.render(), self.folder)
        self._run("up", "--detach", "--no-build", "--no-recreate", *services)

    def _refuse_foreign(self) -> None:
        """Raise DeploymentError if the project exists and is not Loadstone's: the two would be mixed."""
        filters = {"label": f"{_PROJECT_LABEL}={self._project_name}"}
        with docker_errors(self._engine.url):
            there = self._engine.api.containers(all=True, filters=filters)
        if any(container["Labels"].get(LABEL) != self.deployment.name for container in there):
            raise DeploymentError(
                f"the engine has a project {self._project_name!r} that Loadstone did not make",
                "give the study another name",
            )

    def scale(self, service: str, replicas: int) -> None:
        self._run(
            "up", "--detach", "--no-build", "--no-recreate", "--no-deps", "--scale", f"{service}={replicas}", service
        )

    def _run(self, *arguments: str) -> None:
        command = command_line()
        if command is None:
            raise DeploymentError("neither `docker compose` nor docker-compose is installed")
        project = ("--project-name", self._project_name, "--file", _FILE)
        try:
            variables = docker.secrets(self.password) | _PATIENCE
            self._engine.run(*command, *project, *arguments, folder=self.folder, variables=variables)
        except DeploymentError as error:
            raise errors.clear(error) from None

    @classmethod
    def _delete(cls, access: Access, name: str) -> None:
        project.remove(access, f"{LABEL}={name}")

    # What is found

    def _find(self) -> list[FoundReplica]:
        label = {"label": f"{LABEL}={self.deployment.name}"}
        with docker_errors(self._engine.url):
            listed = self._engine.api.containers(all=True, filters=label)
            passing = self._engine.api.containers(filters={**label, "health": ["healthy", "none"]})
        found = project.replicas(listed, [container["Id"] for container in passing], self.deployment)
        return [self._answers.judge(self._explained(replica)) for replica in found]

    def inside(self) -> Inside:
        return self._inside

    def _explained(self, found: FoundReplica) -> FoundReplica:
        reason = "" if found.healthy else self._engines.health(found.node, found.container)
        return found.model_copy(update={"why": f"{found.why}; {reason}"}) if reason else found

    def _log(self, found: FoundReplica, lines: int) -> str | None:
        return self._engines.log(found.node, found.container, lines)

    def _lost(self) -> list[str]:
        return [f"{name}: {why}" for name, why in self._engines.silent().items()]

    def ready(self, stores_only: bool = False) -> None:
        super().ready(stores_only)
        self._started |= self._starts()

    def events(self) -> list[str]:
        if self._lost():
            return self._lost()
        again = [
            replica for replica, started in self._starts().items() if self._started.get(replica, started) != started
        ]
        ends = (f"{replica} ended and was started again{self._how_it_ended(replica)}" for replica in again)
        return [*super().events(), *ends]

    def _how_it_ended(self, name: str) -> str:
        """As far as the engine remembers; what it says of the container is about its new life."""
        containers = {found.name: found.container for found in self._find()}
        with docker_errors(self._engine.url):
            filters = {"container": containers.get(name, ""), "event": ["oom", "die"]}
            recent = self._engine.api.events(since=0, until=int(time.time()) + 1, filters=filters, decode=True)
            events = [(event["Action"], event["Actor"]["Attributes"]) for event in recent]
        memory = ["out of memory"] if any(action == "oom" for action, _ in events) else []
        codes = [f"exit code {attributes['exitCode']}" for action, attributes in events if action == "die"][-1:]
        return f" ({', '.join(memory + codes)})" if memory or codes else ""

    def _starts(self) -> dict[str, str]:
        """When each container was started; one that ends is started again under its old id."""
        state = {
            found.name: self._engines.inspect(found.node, found.container).get("State", {}) for found in self._find()
        }
        return {name: str(status["StartedAt"]) for name, status in state.items() if status.get("Running")}

    def versions(self) -> dict[str, str]:
        if self.access is None:
            return {}
        with docker_errors(self._engine.url):
            return {"docker": str(self._engine.api.version()["Version"])}
