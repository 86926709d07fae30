"""Hotel Reservation behind a real NGINX on real clusters of emulated hosts."""

from __future__ import annotations

import urllib.request

import pytest

from tests.orchestration import docker_clusters
from tests.orchestration.test_nomad_study_real import patient

pytestmark = [pytest.mark.root, pytest.mark.docker, pytest.mark.clusters, pytest.mark.timeout(1800)]
FRONT_END = "runs: {stone: hotel/frontend}\n"


@pytest.mark.parametrize("orchestrator", ["compose", "swarm", "nomad", "kubernetes"])
def test_requests_reach_every_front_end_through_nginx(orchestrator: str) -> None:
    with docker_clusters.folders() as home:
        file = home / "application.yaml"
        file.write_text(patient().replace(FRONT_END, f"{FRONT_END}    replicas: 2\n"))
        study = docker_clusters.study(
            f"behind-{orchestrator}",
            orchestrator,
            application=str(file),
            proxy={"workers": 2, "connections": 256},
            cluster={"infrastructure": "namespaces", "workers": 1 if orchestrator == "compose" else 2},
        )
        # Nomad reserves what it limits.
        cpu = 0.08 if orchestrator == "nomad" else 0.2
        study["resources"] = {name: {"cpu": cpu, "memory": "128MiB"} for name in [*study["resources"], "nginx"]}
        plan = docker_clusters.plan_of(study)
        with docker_clusters.cluster(plan, home) as provision:
            deployed = docker_clusters.deploy(plan, provision, home / "run")
            (entry,) = deployed.targets()
            before = deployed.orchestrator.usage()
            for _ in range(100):
                url = f"http://{entry}/recommendations?require=dis&lat=38&lon=-122"
                with urllib.request.urlopen(url, timeout=60) as answer:
                    assert answer.status == 200 and answer.headers["Server"].startswith("nginx/")
            after = deployed.orchestrator.usage()
            for name in ("nginx-1", "frontend-1", "frontend-2"):
                assert after[name].cpu_s > before[name].cpu_s
            assert [row for row in deployed.orchestrator.audit() if not row.ok] == []
            assert deployed.orchestrator.events() == []
            assert "worker_processes 2;" in "".join(
                file.read_text() for file in (home / "run").rglob("*") if "nginx" in str(file) and file.is_file()
            )
            deployed.remove()
