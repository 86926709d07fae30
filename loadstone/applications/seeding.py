"""Fills, empties and counts an application's stores through ``stone seed``."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from loadstone.model.application import Application
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.orchestration.base import Orchestrator

Counts = dict[tuple[str, str], int]
"""Documents by store (the service's name) and collection."""

_PREFIX = "documents-"


class Seeder:
    """Seeds one deployment. An application without a seed has nothing to do."""

    def __init__(
        self, stone: Path, application: Application, orchestrator: Orchestrator, deployment: Deployment
    ) -> None:
        self._stone = stone
        self._application = application
        self._orchestrator = orchestrator
        self._deployment = deployment

    def seed(self) -> None:
        """Fill the stores and verify them; what is already there stays."""
        self._run()

    def reset(self) -> None:
        """Empty stores and caches, then fill them as if nothing had ever been written."""
        self._run("--reset")

    def counts(self) -> Counts:
        """Documents in every collection now, summed over the replicas of a store."""
        counts: Counts = {}
        for result in self._run("--count"):
            for row in result["stores"]:
                key = (_PREFIX + row["store"].removeprefix(_PREFIX), row["collection"])
                counts[key] = counts.get(key, 0) + row["have"]
        return counts

    def _run(self, *flags: str) -> list[dict[str, Any]]:
        """Run ``stone seed`` once for each set of stores; raises DeploymentError with its words."""
        if self._application.seeding is None:
            return []
        results = []
        for index, plan in enumerate(self._plans(), start=1):
            file = self._orchestrator.folder / f"seed-{index}.json"
            file.write_text(json.dumps(plan, indent=1), encoding="utf-8")
            command = [str(self._stone), "seed", self._application.seeding, "--plan", str(file), *flags]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                words = done.stderr.strip() or f"exit code {done.returncode}"
                raise DeploymentError(f"seeding {self._deployment.name} failed: {words}")
            results.append(json.loads(done.stdout))
        return results

    def _plans(self) -> list[dict[str, Any]]:
        """One plan for each replica of the stores: replicas do not know each other, so each holds the whole seed."""
        replicas = [replica for replica in self._deployment.replicas if replica.software is not None]
        sets = max((replica.index for replica in replicas), default=1)
        plans = []
        for index in range(sets):
            plan: dict[str, Any] = {"stores": {}, "caches": {}, "profile": self._profile()}
            for replica in replicas:
                addresses = self._orchestrator.addresses(replica.service, replica.main_port)
                if not addresses:
                    raise DeploymentError(f"{replica.service} cannot be reached: no replica of it has an address")
                software = self._deployment.software[replica.software or ""]
                if software.documents:
                    host, _, port = addresses[index % len(addresses)].rpartition(":")
                    plan["stores"][replica.service] = software.url.format(host=host, port=port)
                elif replica.tier == "caching":
                    plan["caches"][replica.service] = ",".join(addresses)
            plans.append(plan)
        return plans

    def _profile(self) -> str:
        return self._deployment.profile if self._deployment.profile == "dsb-quirks" else ""
