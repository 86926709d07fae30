"""A machine of a cluster that was there before: its node runs in a container, attached by the cluster's own client.

Nothing listens for it. On Docker the container is the node's own and ends with the channel; on Kubernetes and Nomad a
container waits on each worker (``orchestration/agent.py``), and the node is started into it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines.faults import MachineLost
from loadstone.infrastructure.machines.transport import Transport
from loadstone.model.errors import PreflightError

MOUNTS = {"/proc": "/host/proc", "/sys": "/host/sys"}
"""What a container sees of its node, read-only: folders of the container by folder of the node."""
CONTAINER = "loadstone-agent"
"""The container that waits; also the name of its job, pods and labels."""
ROLE = "loadstone.role"
"""The label of a node that is a ``client``: it generates load, and runs no replicas."""
_OPTIONS = (
    *("--proc", "/host/proc", "--sys", "/host/sys", "--cgroup", "/host/sys/fs/cgroup"),
    *("--state", "/tmp/loadstone"),  # never written: nothing is deployed through it
)
_LABEL = "loadstone.node"
_PROGRAM = "/stone"
_WITHIN_S = 30.0


@dataclass(frozen=True)
class Exec(Transport, ABC):
    """Options beyond those that find the cluster are known once something is deployed there."""

    client: ClassVar[str]
    """The command line that must be installed here."""

    def deliver(self, program: Path) -> str:
        if program != stone_binary():  # which is in the image
            raise PreflightError(
                f"{program} cannot be copied into a container of the cluster",
                "use a dataset that the application makes, or let a machine beside the cluster generate the load",
            )
        return _PROGRAM

    def node_options(self) -> list[str]:
        return list(_OPTIONS)


@dataclass(frozen=True)
class ByDocker(Exec):
    """``url`` is the engine's; ``image`` has stone. The container bears no label of a deployment: it outlives them."""

    client = "docker"
    url: str
    image: str = ""

    def command(self, argv: Sequence[str]) -> list[str]:
        volumes = (f"--volume={folder}:{seen}:ro" for folder, seen in MOUNTS.items())
        # Of the node's own network it only needs the clock's daemon, which answers on the loopback interface.
        limits = ("--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--network=host")
        run = ["docker", "--host", self.url, "run", "--rm", "--interactive", f"--label={_LABEL}", *volumes, *limits]
        return [*run, f"--entrypoint={argv[0]}", self.image, *argv[1:]]


@dataclass(frozen=True)
class ByKubernetes(Exec):
    """``kubeconfig`` may be several files with ``:`` between them; ``namespace`` is the deployment's."""

    client = "kubectl"
    node: str
    kubeconfig: str
    context: str = ""
    namespace: str = ""

    def command(self, argv: Sequence[str]) -> list[str]:
        fields = f"spec.nodeName={self.node},status.phase=Running"
        wanted = ["get", "pods", "--selector", f"loadstone.agent={self.namespace}", "--field-selector", fields]
        pods = _output([*self._kubectl(), *wanted, "--output", "name"]).split()
        if not pods:
            raise MachineLost(f"{self.node}: no pod of {CONTAINER} runs there")
        return [*self._kubectl(), "exec", "--stdin", pods[0], "--container", CONTAINER, "--", *argv]

    def _kubectl(self) -> list[str]:
        context = ["--context", self.context] if self.context else []
        return ["env", f"KUBECONFIG={self.kubeconfig}", "kubectl", *context, "--namespace", self.namespace]


@dataclass(frozen=True)
class ByNomad(Exec):
    """``address`` is the API's; ``job`` is the deployment's. NOMAD_TOKEN counts as for Nomad's own command line."""

    client = "nomad"
    node: str
    address: str
    namespace: str = "default"
    job: str = ""

    def command(self, argv: Sequence[str]) -> list[str]:
        where = [f"-address={self.address}", f"-namespace={self.namespace}"]
        listed = json.loads(_output(["nomad", "job", "allocs", *where, "-json", self.job]))
        running = [allocation for allocation in listed if allocation["ClientStatus"] == "running"]
        found = [str(allocation["ID"]) for allocation in running if allocation["NodeName"] == self.node]
        if not found:
            raise MachineLost(f"{self.node}: no allocation of {self.job} runs there")
        return ["nomad", "alloc", "exec", *where, "-i=true", "-t=false", "-task", CONTAINER, found[0], *argv]


_KINDS: dict[str, type[Exec]] = {"docker": ByDocker, "kubernetes": ByKubernetes, "nomad": ByNomad}


def of_software(software: str, **options: str) -> Exec:
    """The transport to a machine of a cluster of this software."""
    return _KINDS[software](**options)


def missing_client(software: str) -> str:
    """The command line that is needed and not installed here; empty if it is."""
    client = _KINDS[software].client
    return "" if shutil.which(client) else client


def _output(command: Sequence[str]) -> str:
    """What a cluster's client prints; raises MachineLost with its complaint."""
    name = " ".join(word for word in command if word != "env" and not word.startswith("KUBECONFIG="))
    try:
        done = subprocesses.run(command, _WITHIN_S, stdin=subprocess.DEVNULL)
    except subprocesses.OutOfTime:
        raise MachineLost(f"`{name}` did not answer within {_WITHIN_S:g} s") from None
    except OSError as error:
        raise MachineLost(f"`{name}` cannot be started: {error.strerror}") from None
    if done.returncode != 0:
        complaint = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise MachineLost(f"`{name}` failed: {complaint}")
    return done.stdout
