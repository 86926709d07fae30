"""The part of a compose project that is carried, in the long forms that ``stone-compose`` writes.

What else the specification has stands in ``uncarried.py``.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from loadstone.applications.compose_import.forms import Size, Span, exposed
from loadstone.applications.compose_import.uncarried import NOT_CARRIED
from loadstone.model.application import Port, Tier
from loadstone.model.base import Model

EXTENSION = "x-loadstone"


class PublishedPort(Model):
    """An entry of ``ports`` or ``expose``: the container's ports from ``target`` to ``last``."""

    target: Port
    last: Port | None = None
    published: str | None = None
    protocol: str = "tcp"
    name: str = ""

    def numbers(self) -> range:
        """The container's ports."""
        return range(self.target, (self.last or self.target) + 1)


class ComposeMount(Model):
    """An entry of ``volumes`` of a service."""

    type: str
    source: str = ""
    target: str
    read_only: bool = False


class ConfigUse(Model):
    """An entry of ``configs`` of a service: ``target`` is ``/source`` by default."""

    source: str
    target: str = ""


class Dependency(Model):
    """An entry of ``depends_on``."""

    condition: str = "service_started"


class ComposeNetwork(Model):
    """An entry of a service's ``networks``."""

    aliases: list[str] = []


class EnvFile(Model):
    """An entry of ``env_file``."""

    path: str
    required: bool = True


class HealthCheck(Model):
    """When compose counts a container as healthy."""

    test: list[str] = []
    disable: bool = False
    interval: Span = 30.0
    retries: int = 3
    start_period: Span = 0.0

    def is_active(self) -> bool:
        """Whether there is a check."""
        return not self.disable and self.test not in ([], ["NONE"])


class ComposeLimits(Model):
    """``deploy.resources.limits``"""

    cpus: Annotated[float, Field(ge=0)] | None = None
    memory: Size | None = None


class DeployResources(Model):
    """``deploy.resources``"""

    limits: ComposeLimits = ComposeLimits()


class DeployPlacement(Model):
    """``deploy.placement``"""

    constraints: list[str] = []


class RestartPolicy(Model):
    """``deploy.restart_policy``"""

    condition: str = "any"


class Deploy(Model):
    """``deploy``"""

    mode: str = "replicated"
    replicas: int | None = None
    resources: DeployResources = DeployResources()
    placement: DeployPlacement = DeployPlacement()
    restart_policy: RestartPolicy = RestartPolicy()


class ComposeService(Model):
    """A service of a compose file."""

    image: str | None = None
    build: Any = None
    entrypoint: list[str] | None = None
    command: list[str] | None = None
    environment: dict[str, str | None] = {}
    env_file: list[EnvFile] = []
    ports: list[PublishedPort] = []
    expose: list[Annotated[PublishedPort, BeforeValidator(exposed)]] = []
    volumes: list[ComposeMount] = []
    configs: list[ConfigUse] = []
    depends_on: dict[str, Dependency] = {}
    links: list[str] = []
    networks: dict[str, ComposeNetwork | None] = {}
    container_name: str = ""
    healthcheck: HealthCheck | None = None
    deploy: Deploy = Deploy()
    cpus: Annotated[float, Field(ge=0)] | None = None
    cpu_quota: int | None = None
    cpu_period: int = 100_000
    mem_limit: Size | None = None
    scale: int | None = None
    restart: str = "always"
    profiles: list[str] = []

    def cpu(self) -> float | None:
        """The limit in cores, in any of the formats; 0 is no limit, as is a quota of less."""
        quota = self.cpu_quota / self.cpu_period if self.cpu_quota and self.cpu_period else 0.0
        limit = self.deploy.resources.limits.cpus or self.cpus or quota
        return limit if limit > 0 else None

    def memory(self) -> int | None:
        """The limit in bytes, in any of the formats."""
        return self.deploy.resources.limits.memory or self.mem_limit or None

    def replicas(self) -> int | None:
        """The number of replicas, where the file sets it."""
        return self.deploy.replicas if self.deploy.replicas is not None else self.scale


class Volume(Model):
    """A named volume."""

    name: str = ""


class ConfigFile(Model):
    """A named configuration: the text of a file, or of the compose file or a variable."""

    name: str = ""
    file: str | None = None
    content: str | None = None


class Extension(Model):
    """The key ``x-loadstone``: what the format of compose files lacks; services are named as in the compose file."""

    name: str | None = None
    """The application's name; by default that of the compose file or of its folder."""
    description: str | None = None
    """The application's description."""
    entry: Any = None
    """Where requests enter: ``web:8080``, a service and its port in the container."""
    profiles: list[str] = []
    """Profiles of the compose file that are enabled."""
    without: list[str] = []
    """Services that are left out, such as a load generator."""
    seed: str | None = None
    """A command that fills the stores of a fresh deployment, in the compose file's folder; ``$LOADSTONE_ENTRY`` is
    ``host:port`` where requests enter."""
    reset: str | None = None
    """A command that brings the stores back to that before each trial; without, a trial has a fresh deployment."""
    ready: str | None = None
    """A command that succeeds once the application can serve requests, also with its data; it is repeated."""
    tiers: dict[str, Tier] = {}
    """By service, where the guess from images is wrong."""
    readiness: dict[str, Any] = {}
    """By service, instead of its health check: ``{port: 8080, http: /health, within: 30s}``."""
    workloads: dict[str, Any] = {}
    """As in an application file; by default ``GET /``."""
    default_workload: str | None = None
    """As in an application file; an only workload need not be named."""
    paper_resources: Any = None
    """As in an application file."""

    def commands(self) -> dict[str, str]:
        """``seed``, ``reset`` and ``ready``, as far as they are given."""
        found = {"seed": self.seed, "reset": self.reset, "ready": self.ready}
        return {key: command for key, command in found.items() if command}


class ComposeFile(Model):
    """A compose file."""

    name: str = ""
    services: Annotated[dict[str, ComposeService], Field(min_length=1)]
    networks: dict[str, Any] = {}
    volumes: dict[str, Volume] = {}
    configs: dict[str, ConfigFile] = {}
    loadstone: Annotated[Extension, Field(alias=EXTENSION)] = Extension()


KEYS = sorted(
    {key for part in (ComposeFile, ComposeService, Deploy, HealthCheck) for key in part.model_fields}
    | {key for keys in NOT_CARRIED.values() for key in keys}
)
"""Keys of compose files, for hints."""
