"""A front end of two replicas behind a real NGINX, on real clusters of emulated hosts."""

from __future__ import annotations

import urllib.request

import pytest
import yaml

from loadstone.infrastructure import images
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.clusters import ON_CLUSTERS, SharedClusters, folders

pytestmark = [pytest.mark.root, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("orchestrator", ON_CLUSTERS)
def test_requests_reach_every_front_end_through_nginx(orchestrator: str, shared_clusters: SharedClusters) -> None:
    cluster = shared_clusters(orchestrator)
    application = yaml.safe_load(applications.ECHO.replace("STONE", images.reference("stone", cluster.access)))
    application["services"]["web"]["replicas"] = 2
    with folders() as home:
        (home / "application.yaml").write_text(yaml.safe_dump(application))
        study = docker_clusters.study(
            f"behind-{orchestrator}",
            orchestrator,
            application=str(home / "application.yaml"),
            proxy={"workers": 2, "connections": 256},
            cluster={"infrastructure": "namespaces"},
            resources={"nginx": {"cpu": 0.2, "memory": "128MiB"}},
        )
        images.deliver(cluster.access, ["stone"])
        deployed = docker_clusters.deploy(docker_clusters.plan_of(study), cluster.provision, home / "run")
        try:
            (entry,) = deployed.targets()
            before = deployed.orchestrator.usage()
            for _ in range(100):
                with urllib.request.urlopen(f"http://{entry}/", timeout=60) as answer:
                    assert answer.status == 200 and answer.headers["Server"].startswith("nginx/")
            after = deployed.orchestrator.usage()
            for name in ("nginx-1", "web-1", "web-2"):
                assert after[name].cpu_s > before[name].cpu_s
            assert [row for row in deployed.orchestrator.audit() if not row.ok] == []
            assert deployed.orchestrator.events() == []
            assert "worker_processes 2;" in "".join(
                file.read_text() for file in (home / "run").rglob("*") if "nginx" in str(file) and file.is_file()
            )
        finally:
            deployed.remove()
