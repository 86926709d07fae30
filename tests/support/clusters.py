"""One cluster of each software for the whole session, shared by all tests that do not break it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone import plugins
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Access, Provision
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.software.kubernetes.plan import fill
from loadstone.model.cluster import Cluster
from tests.support.users import User
from tests.traces import MACHINE, snapshot

ON_CLUSTERS = [
    pytest.param("compose", marks=pytest.mark.docker),
    pytest.param("swarm", marks=pytest.mark.docker),
    pytest.param("nomad", marks=pytest.mark.nomad),
    pytest.param("kubernetes", marks=pytest.mark.kubernetes),
]
"""The orchestrators that need a cluster, each with the marker of what must be installed for it."""


@dataclass(frozen=True)
class Shared:
    """A cluster that is there for the session: one manager and two workers; of Compose, a worker."""

    provision: Provision
    place: Path
    """The folder of its state and data; pytest's own are too long for a socket."""

    @property
    def access(self) -> Access:
        assert self.provision.access is not None
        return self.provision.access

    def trust(self, registry: str) -> None:
        """Let the nodes of Kubernetes pull from a registry without TLS, as at the start of hosts that have this one."""
        for node in self.access.engines:
            (folder,) = self.place.glob(f"data/clusters/*/{node}/node/deployments/cluster/data")
            trusted = folder / "registries" / registry
            trusted.mkdir(parents=True)
            (trusted / "hosts.toml").write_text(fill("registry.toml.j2", registry=registry))


SharedClusters = Callable[[str], Shared]


@pytest.fixture(scope="session")
def shared_clusters() -> Iterator[SharedClusters]:
    """The cluster of an orchestrator by its name, made on first use; skips where it cannot be."""
    there: dict[str, Shared] = {}
    with ExitStack() as stack:

        def of(orchestrator: str) -> Shared:
            if orchestrator not in there:
                there[orchestrator] = stack.enter_context(cluster_of(orchestrator))
            return there[orchestrator]

        yield of


@contextmanager
def cluster_of(orchestrator: str) -> Iterator[Shared]:
    """A cluster; afterwards nothing of it may be left anywhere."""
    kind = plugins.find("orchestrators", orchestrator)
    managers, workers = (1, 2) if kind.managed else (0, 1)
    infrastructure = Namespaces(
        Cluster(infrastructure="namespaces", workers=workers), f"shared-{os.getpid()}-{kind.name}"
    )
    if wrong := [
        finding.message for finding in infrastructure.preflight(kind.software, managers) if finding.level == "error"
    ]:
        pytest.skip("; ".join(wrong))
    before = snapshot()
    # Tests have other journals: the cluster's is in force only where it is made and removed.
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        try:
            with _home(Path(name)):
                provision = infrastructure.provide(kind.software, managers, print)
                entry = journal.load(infrastructure.entry_name)
            assert entry is not None
            yield Shared(provision, Path(name))
        finally:
            with _home(Path(name)):
                infrastructure.release()
        left = snapshot(EmulatedHosts.of(entry.facts).id, (Path(name, "data"),))
    assert {kind: lines for kind, lines in left.items() if lines and kind not in MACHINE} == {}
    after = snapshot()
    assert {kind: after[kind] for kind in MACHINE} == {kind: before[kind] for kind in MACHINE}


@contextmanager
def folders() -> Iterator[Path]:
    """State and data of some tests alone, in a folder with a short path (a socket's may not be long)."""
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name, _home(Path(name)) as folder:
        yield folder


@contextmanager
def _home(folder: Path) -> Iterator[Path]:
    folder.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOADSTONE_STATE", f"{folder}/state")
        patch.setenv("LOADSTONE_DATA", f"{folder}/data")
        yield folder


@pytest.fixture
def cluster_user() -> Iterator[User]:
    """A user, of whose clusters nothing may be left afterwards."""
    with folders() as home:
        before = snapshot()
        user = User(home)
        yield user
        assert journal.entries() == []
        left = snapshot("emulated-", (home / "data" / "clusters",))
        assert {kind: lines for kind, lines in left.items() if any(str(home) in line for line in lines)} == {}
        after = snapshot()
        assert {kind: after[kind] for kind in MACHINE} == {kind: before[kind] for kind in MACHINE}
