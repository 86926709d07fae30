"""The counters of this machine for a Prometheus that runs in containers on it, or on hosts that are emulated on it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import subprocess
import tempfile
import threading
from pathlib import Path

from loadstone.infrastructure import temporary
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.subprocesses import start, stop
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError, LoadstoneError
from loadstone.model.records.observed import Observed
from loadstone.model.study import Settings
from loadstone.monitoring.base import Collector
from loadstone.orchestration import stacks
from loadstone.orchestration.base import Orchestrator

_LISTENING = re.compile(r"listening on (\S+:\d+)\b")
_STARTED_WITHIN_S = 30.0


class PrometheusTargets(Collector):
    """A ``stone agent`` where containers reach it. Its token is made for this run, and dies with it."""

    name = "prometheus"

    def __init__(self, node: Node, desk: Node) -> None:
        self._node = node
        self._desk = desk
        self._token = secrets.token_urlsafe()
        self._address = ""
        self._agent: subprocess.Popen[str] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def wanted(cls, settings: Settings, deployment: Deployment, desk: Node) -> PrometheusTargets | None:
        local = [node for node in deployment.nodes if node.reach.local and node.role != "client"]
        # Where replicas are processes, the agent is one of them.
        beside = deployment.of("prometheus") and not deployment.of(stacks.AGENT)
        return cls(local[0], desk) if local and beside else None

    def start(self) -> None:
        self._folder = temporary.directory("agent")
        self._write({})
        listen = f"{self._desk.address}:0"
        self._agent = start(
            [str(stone_binary()), "agent", "--listen", listen, "--replicas", str(self._file)],
            self._desk.cpus,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "STONE_AGENT_TOKEN": self._token},
        )
        assert self._agent.stdout is not None and self._agent.stderr is not None
        late = threading.Timer(_STARTED_WITHIN_S, self._agent.kill)
        late.start()
        match = _LISTENING.match(self._agent.stdout.readline())
        late.cancel()
        if match is None:
            self._agent.kill()
            complaint = self._agent.stderr.read().strip() or f"no answer within {_STARTED_WITHIN_S:g} s"
            self.stop()
            raise DeploymentError(f"Prometheus cannot be shown this machine's counters: {complaint}")
        self._address = match.group(1)

    def prepare(self, deployment: Deployment) -> Deployment:
        agent = stacks.Agent(self._node.name, self._address, self._token)
        return stacks.watching(deployment, agent)

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        local = {node.name for node in orchestrator.deployment.nodes if node.reach.local}
        with contextlib.suppress(LoadstoneError):  # replicas of before are shown then
            subjects = orchestrator.subjects().items()
            self._write({name: subject.model_dump() for name, (node, subject) in subjects if node in local})

    def end(self, observed: Observed, sent: int | None) -> Observed:
        return observed

    def stop(self) -> None:
        if self._agent is not None:
            stop(self._agent)
            for stream in (self._agent.stdout, self._agent.stderr):
                if stream is not None:
                    stream.close()
            self._agent = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def _file(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name, "replicas.json")

    def _write(self, replicas: dict[str, dict[str, str]]) -> None:
        """Whole or not at all: the agent reads the file for each scrape."""
        temporary = self._file.with_suffix(".tmp")
        temporary.write_text(json.dumps(replicas), encoding="utf-8")
        temporary.replace(self._file)
