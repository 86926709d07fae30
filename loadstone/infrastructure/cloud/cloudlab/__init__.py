"""CloudLab: the machines of an experiment that the user has started, by its manifest."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from loadstone.infrastructure.base import Terms
from loadstone.infrastructure.cloud.cloudlab import manifest
from loadstone.infrastructure.hosts import Hosts
from loadstone.model.base import Finding as StudyFinding
from loadstone.model.cluster import Cluster
from loadstone.model.inventory import Inventory


class CloudLab(Hosts):
    """``hosts`` whose inventory is the manifest. The experiment stays the user's: nothing is made or ended."""

    name = "cloudlab"
    follows = frozenset({"inventory", "install", "instances"})

    @classmethod
    def objections(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        if cluster.inventory is None:
            text = "infrastructure 'cloudlab' needs the manifest of your experiment; write inventory: manifest.xml"
            yield ("inventory",), text

    @classmethod
    def wrong_files(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        if cluster.inventory is not None and Path(cluster.inventory).exists():  # else the experiment is yet to start
            yield from super().wrong_files(cluster)

    def terms(self, managers: int) -> Terms | None:
        found = manifest.read(str(self.cluster.inventory))
        held_s = None if found.expires is None else (found.expires - datetime.now(UTC)).total_seconds()
        return Terms(len(found.nodes), "an experiment of CloudLab", held_s)

    @classmethod
    def _read(cls, cluster: Cluster) -> Inventory:
        login = cluster.instances.login if cluster.instances is not None else None
        return manifest.inventory(manifest.read(str(cluster.inventory)), login)
