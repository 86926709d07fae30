"""Replicas as services of a Docker swarm: one stack, deployed by ``docker stack deploy``."""

from __future__ import annotations

from pathlib import Path

from loadstone.infrastructure.base import Access, Finding
from loadstone.infrastructure.docker_api import command_line
from loadstone.model.deployment import EXECUTABLE, Deployment, FoundReplica, Replica, is_script
from loadstone.model.errors import DeploymentError
from loadstone.orchestration import docker
from loadstone.orchestration.containers import LABEL, Containers
from loadstone.orchestration.docker import Tree
from loadstone.orchestration.docker.engines import Engines
from loadstone.orchestration.docker.inside import Inside
from loadstone.orchestration.docker.readiness import FirstAnswers
from loadstone.orchestration.swarm import removal, tasks
from loadstone.orchestration.swarm.managers import Managers
from loadstone.orchestration.swarm.tasks import Task

_FILE = "stack.yaml"
_LONGEST_NAME = 63
"""Most characters in the name of a service in a swarm: stack, '_', service."""
_STACK_LABEL = "com.docker.stack.namespace"


class Swarm(Containers):
    """A stack; replicas are tasks, which Swarm places on nodes that the stack allows them."""

    name = "swarm"
    software = "swarm"
    resolves_names = True
    beside_others = True
    managed = True

    # What is deployed

    def preflight(self) -> list[Finding]:
        findings = super().preflight()
        if command_line() is None:
            findings.append(Finding("docker", "error", "the docker command is not installed",
                                    "sudo apt-get install -y docker.io (or docker-ce-cli)"))  # fmt: skip
        for name in self.deployment.services():
            if len(whole := f"{self._stack_name}_{name}") > _LONGEST_NAME:
                message = f"Swarm takes names of at most {_LONGEST_NAME} characters, and not {whole}"
                findings.append(Finding(name, "error", message, "give the service a shorter name"))
        return findings

    def render(self) -> dict[str, str]:
        return docker.with_configs(self.deployment, _FILE, docker.dump(self._stack(list(self.deployment.services()))))

    def _stack(self, services: list[str]) -> Tree:
        """The stack with these services only."""
        chosen = {name: replicas for name, replicas in self.deployment.services().items() if name in services}
        configs = {
            f"config-{number}": {"file": file, "labels": docker.labels(self.deployment)}
            for number, file in self._configs().values()
            if file.split("/")[1] in services
        }
        network = {"driver": "overlay", "attachable": True, "labels": docker.labels(self.deployment)}  # to `inside`
        tree = {
            "version": "3.8",
            "services": {name: self._service(replicas) for name, replicas in chosen.items()},
            "networks": {"default": network},
            "configs": configs,
        }
        return {key: value for key, value in tree.items() if value}

    def _configs(self) -> dict[tuple[str, str], tuple[int, str]]:
        """The number and the file of each configuration file, by service and path in the container."""
        first = [replicas[0] for replicas in self.deployment.services().values()]
        files = [
            ((replica.service, path), file) for replica in first for path, file in docker.config_files(replica).items()
        ]
        return {key: (number, file) for number, (key, file) in enumerate(files, start=1)}

    def _service(self, replicas: list[Replica]) -> Tree:
        first = replicas[0]
        service = docker.service(self.deployment, first)
        ports = docker.published(self.deployment, first)
        configs = self._configs()
        service |= {
            "environment": {name: _literal(value) for name, value in service.get("environment", {}).items()},
            "volumes": [{"type": "volume", "target": _literal(path)} for path in first.volumes],
            "ports": [
                {"target": first.ports[name], **({"published": number} if number else {}), "mode": "host"}
                for name, number in ports.items()
            ],
            "configs": [
                {"source": f"config-{configs[first.service, path][0]}", "target": path}
                | ({"mode": EXECUTABLE} if is_script(text) else {})
                for path, text in first.configs.items()
            ],
            "deploy": self._deploy(first, len(replicas)),
        }
        return {key: value for key, value in service.items() if value}

    def _deploy(self, replica: Replica, replicas: int) -> Tree:
        limits = {}
        if replica.resources.cpu is not None:
            limits["cpus"] = f"{replica.resources.cpu:.5f}".rstrip("0").rstrip(".")
        if replica.resources.memory is not None:
            limits["memory"] = docker.memory(replica.resources.memory)
        settings: Tree = {
            "replicas": replicas,
            "endpoint_mode": "dnsrr",
            "labels": docker.labels(self.deployment, replica.service),
            "placement": {"constraints": self._constraints(replica.service)},
            "resources": {"limits": limits},
            "restart_policy": {"condition": "any", "delay": "1s"},
        }
        if not limits:
            del settings["resources"]
        if not settings["placement"]["constraints"]:
            del settings["placement"]
        return settings

    @classmethod
    def _entrance(cls, deployment: Deployment) -> dict[str, str]:
        return docker.entrance(deployment)

    def _constraints(self, service: str) -> list[str]:
        """Swarm wants all constraints at once: one node is named, of several the others are ruled out, as are nodes
        that generate load."""
        workers = [node.name for node in self.deployment.nodes if node.role == "worker"]
        clients = [node.name for node in self.deployment.nodes if node.role == "client" and not node.reach.local]
        allowed = self.deployment.allowed.get(service, workers)
        if service in self.deployment.allowed and len(allowed) == 1:
            return [f"node.hostname=={allowed[0]}"]
        return [f"node.hostname!={name}" for name in [*clients, *workers] if name not in allowed]

    @property
    def _stack_name(self) -> str:
        longest = max(map(len, [*self.deployment.services(), "config-999"]))
        return docker.fit(self.deployment.name, _LONGEST_NAME - 1 - longest)

    # What is done

    def __init__(self, deployment: Deployment, folder: Path, access: Access | None = None) -> None:
        super().__init__(deployment, folder, access)
        self._managers = Managers(access.addresses if access is not None else ())
        self._engines = Engines(access)
        labels = docker.labels(deployment)
        engines = (*access.engines.values(), *access.addresses) if access is not None else ()
        self._inside = Inside(self.deployment, f"{self._stack_name}_default", labels, engines)
        self._answers = FirstAnswers(deployment, self._inside.why_not_ready)
        self._ports: dict[str, dict[str, str]] = {}

    def _create(self, services: list[str]) -> None:
        self._refuse_foreign()
        if not self._find():
            docker.refuse_taken_ports(self.deployment, everywhere=True)
        docker.write(self.render(), self.folder)
        stack = self._stack(services)
        if not self.cluster.registry:
            self._name_by_id(stack)
        extra = ("--with-registry-auth",) if self.cluster.registry else ()
        command = ("docker", "stack", "deploy", "--resolve-image", "never", *extra, "--compose-file", "-")
        variables = docker.secrets(self.password)
        self._managers.run(
            *command, self._stack_name, given=docker.dump(stack), folder=self.folder, variables=variables
        )

    def _name_by_id(self, stack: Tree) -> None:
        """Nodes have the images already. Given a name, Swarm still queries its registry, which may have another image
        of that name, or never answer."""
        ids = {self.deployment.images[what]: image for what, image in self._image_ids.items()}
        for service in stack["services"].values():
            service["image"] = ids.get(service["image"], service["image"])

    def _refuse_foreign(self) -> None:
        """Raise DeploymentError if the stack exists and is not Loadstone's: the two would be mixed."""
        there = self._managers.ask(lambda api: api.services(filters={"label": f"{_STACK_LABEL}={self._stack_name}"}))
        if any(service["Spec"]["Labels"].get(LABEL) != self.deployment.name for service in there):
            raise DeploymentError(
                f"the swarm has a stack {self._stack_name!r} that Loadstone did not make",
                "give the study another name",
            )

    def scale(self, service: str, replicas: int) -> None:
        self._managers.run("docker", "service", "scale", "--detach", f"{self._stack_name}_{service}={replicas}")

    @classmethod
    def _delete(cls, access: Access, name: str) -> None:
        removal.remove(access, f"{LABEL}={name}")

    # What is found

    def _tasks(self) -> tuple[list[Task], dict[str, str]]:
        """All tasks of this deployment, and the names of the swarm's nodes by id."""
        label = {"label": f"{LABEL}={self.deployment.name}"}
        listed, nodes = self._managers.ask(lambda api: (api.tasks(filters=label), api.nodes()))
        return listed, {node["ID"]: node["Description"]["Hostname"] for node in nodes}

    def _find(self) -> list[FoundReplica]:
        listed, hosts = self._tasks()
        ended = tasks.last_ended(listed, hosts)
        found = map(self._published, tasks.replicas(listed, hosts, self.deployment))
        return [self._answers.judge(self._completed(replica, *ended.get(replica.name, ("", "")))) for replica in found]

    def inside(self) -> Inside:
        return self._inside

    def _published(self, found: FoundReplica) -> FoundReplica:
        """With the ports of its container, which stay while it lives: a new leader does not receive them again."""
        if found.addresses:
            self._ports[found.container] = found.addresses
        return found.model_copy(update={"addresses": self._ports.get(found.container, {})})

    def _completed(self, found: FoundReplica, node: str, ended: str) -> FoundReplica:
        """With what only engines know; ``node`` and ``ended``: of its container that ended last."""
        image = self._engines.image(found.node, found.container) if found.container else ""
        reason = "" if found.healthy or not found.container else self._engines.health(found.node, found.container)
        memory = "it ran out of memory" if ended and self._engines.ran_out_of_memory(node, ended) else ""
        why = "; ".join(part for part in (memory, found.why, reason) if part)
        return found.model_copy(update={"image": image, "why": why})

    def _log(self, found: FoundReplica, lines: int) -> str | None:
        task, node = tasks.last_with_container(*self._tasks(), found)
        if task is None:
            return None
        if self._engines.reaches(node):
            return self._engines.log(node, task["Status"]["ContainerStatus"]["ContainerID"], lines)
        try:
            return self._managers.run("docker", "service", "logs", "--raw", "--tail", str(lines), task["ID"])
        except DeploymentError:  # its node does not answer
            return None

    def _lost(self) -> list[str]:
        workers = {node.name for node in self.deployment.nodes if node.role == "worker"}
        silent = self._engines.silent()
        down = {
            listed["Description"]["Hostname"]: f"Swarm says that it is {listed['Status']['State']}"
            for listed in self._managers.ask(lambda api: api.nodes())
            if listed["Status"]["State"] in tasks.LOST
        }
        return [f"{name}: {why}" for name, why in (down | silent).items() if name in workers]

    def versions(self) -> dict[str, str]:
        if self.access is None:
            return {}
        return {"docker": str(self._managers.ask(lambda api: api.version())["Version"])}


def _literal(text: str) -> str:
    """Swarm takes variables and paths of volumes for templates of Go, which begin with two braces."""
    return text.replace("{{", '{{"{{"}}')
