"""The orchestrators' own commands on rendered files: deploy some services, then wait until all of them are ready."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
import yaml

from loadstone.infrastructure import builds
from loadstone.infrastructure.base import Access
from loadstone.infrastructure.software.nomad import credentials
from loadstone.model.software import STORE_PASSWORD
from loadstone.orchestration import docker
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.kubernetes import manifests

PATIENCE_S = 300.0
LOOK_EVERY_S = 0.25
"""As often as Loadstone looks."""

Services = list[str]
Deploy = Callable[[Orchestrator, Path, Services], None]


def compose(orchestrator: Orchestrator, folder: Path, services: Services) -> None:
    """``docker-compose up``, then every container healthy."""
    environment = _docker(orchestrator)
    project = orchestrator.deployment.name
    _run(["docker-compose", "-p", project, "-f", "compose.yaml", "up", "-d", *services], folder, environment)
    healthy = ["docker", "ps", "-q", "--filter", f"label=com.docker.compose.project={project}"]
    healthy += ["--filter", "health=healthy"]
    _until(lambda: len(_run(healthy, folder, environment).split()) == _replicas(orchestrator, services))


def swarm(orchestrator: Orchestrator, folder: Path, services: Services) -> None:
    """``docker stack deploy``, then as many tasks running as wanted; a task with a health check runs once it passes."""
    environment = _docker(orchestrator)
    name = orchestrator.deployment.name
    stack = yaml.safe_load((folder / "stack.yaml").read_text())
    stack["services"] = {service: stack["services"][service] for service in services}
    (folder / "some.yaml").write_text(yaml.safe_dump(stack, sort_keys=False))
    _run(["docker", "stack", "deploy", "--resolve-image", "never", "-c", "some.yaml", name], folder, environment)

    def running() -> bool:
        listing = _run(["docker", "stack", "services", name, "--format", "{{.Replicas}}"], folder, environment)
        counts = [line.split()[0].split("/") for line in listing.splitlines()]
        return all(have == want for have, want in counts)

    _until(running)


def nomad(orchestrator: Orchestrator, folder: Path, services: Services) -> None:
    """``nomad job run`` of every file at once, then as many checks passing in Consul as there are replicas."""
    program = str(builds.binary("nomad", print))
    tokens = credentials.load(_access(orchestrator))
    environment = {**os.environ, "NOMAD_ADDR": _access(orchestrator).addresses[0], **tokens}
    for service in services:
        file = folder / f"{service}.nomad.hcl"
        file.write_text(file.read_text().replace(STORE_PASSWORD, orchestrator.password))
    with ThreadPoolExecutor(len(services)) as pool:
        commands = ([program, "job", "run", f"{service}.nomad.hcl"] for service in services)
        list(pool.map(lambda command: _run(command, folder, environment), commands))
    consul = _access(orchestrator).extra["consul"].split(",")[0]
    headers = {"X-Consul-Token": tokens.get("CONSUL_HTTP_TOKEN", "")}

    def passing() -> bool:
        checks = requests.get(f"{consul}/v1/health/state/passing", headers=headers, timeout=PATIENCE_S).json()
        of_tasks = [check for check in checks if check["ServiceID"].startswith("_nomad-task-")]
        return len(of_tasks) == _replicas(orchestrator, services)

    _until(passing)


def kubernetes(orchestrator: Orchestrator, folder: Path, services: Services) -> None:
    """``kubectl apply``, then every pod ready."""
    base = [str(builds.binary("kubernetes", print)), "kubectl", "--kubeconfig", _access(orchestrator).addresses[0]]
    _run([*base, "apply", "-f", "namespace.yaml"], folder)
    secret = manifests.secret_manifest(orchestrator.deployment, orchestrator.password)
    _run([*base, "apply", "-f", "-"], folder, given=json.dumps(secret))
    files = [part for service in services for part in ("-f", f"services/{service}.yaml")]
    _run([*base, "apply", *files], folder)

    def ready() -> bool:
        namespace = ["-n", orchestrator.deployment.name]
        pods = json.loads(_run([*base, *namespace, "get", "pods", "-o", "json"], folder))["items"]
        conditions = [{entry["type"]: entry["status"] for entry in pod["status"].get("conditions", [])} for pod in pods]
        whole = len(pods) == _replicas(orchestrator, services)
        return whole and all(condition.get("Ready") == "True" for condition in conditions)

    _until(ready)


COMMANDS: dict[str, Deploy] = {"compose": compose, "swarm": swarm, "nomad": nomad, "kubernetes": kubernetes}


def _replicas(orchestrator: Orchestrator, services: Services) -> int:
    return sum(replica.service in services for replica in orchestrator.deployment.replicas)


def _access(orchestrator: Orchestrator) -> Access:
    assert orchestrator.access is not None
    return orchestrator.access


def _docker(orchestrator: Orchestrator) -> dict[str, str]:
    access = _access(orchestrator)
    return {
        **os.environ,
        "DOCKER_HOST": access.addresses[0] if access.addresses else next(iter(access.engines.values())),
        **docker.secrets(orchestrator.password),
    }


def _run(argv: list[str], folder: Path, environment: dict[str, str] | None = None, given: str | None = None) -> str:
    done = subprocess.run(argv, cwd=folder, env=environment, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"`{' '.join(argv)}` failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"not ready within {PATIENCE_S:g} s")
        time.sleep(LOOK_EVERY_S)
