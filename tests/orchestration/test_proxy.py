"""NGINX in front of an application: its configuration, where every orchestrator puts it, and a real one."""

from __future__ import annotations

import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.applications.seeding import Seeder
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.local import Local
from loadstone.model.application import Entry, Resources
from loadstone.model.cluster import Cluster
from loadstone.model.deployment import Deployment
from loadstone.model.errors import InputError, PreflightError
from loadstone.model.proxy import Proxy
from loadstone.model.study import Settings
from loadstone.orchestration.process import Process
from loadstone.orchestration.proxy import CONFIG, configuration, servers
from loadstone.orchestration.resolve import resolve
from tests.orchestration.conftest import SERVICES, parse, two_nodes
from tests.orchestration.pinned import compare

PROXY = {"workers": 2, "connections": 512, "keepalive_requests": 100000}
PAPER = "paper_resources: {frontend: {cpu: 2, memory: 2GiB}}\n"


def behind_nginx(text: str = SERVICES, resources: dict[str, Resources] | None = None, **more: Any) -> Deployment:
    """An application with NGINX in front."""
    settings = Settings.model_validate({"proxy": PROXY, **more})
    return resolve(parse(text), settings, two_nodes(4), resources or {}, catalogue.software(), "test")


@pytest.mark.parametrize("orchestrator", plugins.names("orchestrators"))
def test_golden(orchestrator: str) -> None:
    kind = plugins.find("orchestrators", orchestrator)
    files = kind(behind_nginx(scaling="horizontal"), Path("/nowhere")).render()
    compare(f"{orchestrator}/services-behind-nginx", files)


def test_nginx_is_the_entry_and_needs_what_was(tmp_path: Path) -> None:
    deployment = behind_nginx()
    (nginx,) = deployment.of("nginx")
    assert deployment.entry == Entry(service="nginx", port="http")
    assert (nginx.needs, nginx.tier, nginx.software, nginx.store) == (("frontend",), "frontend", "nginx", False)
    assert deployment.replicas[-1] is nginx, "it starts last"
    assert f"server frontend:{deployment.of('frontend')[0].ports['http']};" in nginx.configs[CONFIG]
    assert nginx.resources == Resources(cpu=1, memory=256 * 2**20)
    assert [replica.service for replica in deployment.replicas if replica.store] == ["memcached-geo", "documents-geo"]


def test_its_limits_are_those_of_front_ends_or_what_the_study_says() -> None:
    (paper,) = behind_nginx(SERVICES + PAPER, profile="paper").of("nginx")
    assert paper.resources == Resources(cpu=2, memory=2**31)
    (given_,) = behind_nginx(resources={"nginx": Resources(cpu=3)}).of("nginx")
    assert given_.resources == Resources(cpu=3, memory=256 * 2**20)


def test_settings_of_an_nginx_that_another_treatment_has_are_no_mistake() -> None:
    deployment = behind_nginx(
        proxy=None, resources={"nginx": Resources(cpu=3)}, placement={"services": {"nginx": ["worker-1"]}}
    )
    assert deployment.of("nginx") == [] and deployment.entry.service == "frontend"


def test_an_application_with_a_service_of_that_name_is_refused() -> None:
    text = SERVICES.replace(
        "  memcached-geo: {", "  nginx: {tier: caching, runs: {software: memcached}}\n  memcached-geo: {"
    )
    with pytest.raises(InputError, match=r"proxy: services has a service 'nginx' of its own; leave the proxy out"):
        behind_nginx(text)


@given(
    workers=st.sampled_from([1, 4, 64, "auto"]),
    connections=st.integers(16, 65535),
    requests=st.none() | st.integers(1, 10**9),
    count=st.integers(1, 8),
)
def test_every_setting_and_every_server_is_in_the_configuration(
    workers: Any, connections: int, requests: int | None, count: int
) -> None:
    proxy = Proxy(workers=workers, connections=connections, keepalive_requests=requests)
    there = [f"10.0.0.{number}:5000" for number in range(1, count + 1)]
    text = configuration(proxy, "127.0.0.1:8000", servers(there))
    assert re.findall(r"^ *server (\S+);$", text, re.MULTILINE) == there
    assert f"worker_processes {workers};\n" in text and f"worker_connections {connections};\n" in text
    assert text.count(f"keepalive_requests {requests};") == (2 if requests is not None else 0)
    assert text.count("{") == text.count("}") and not re.search(r"[ ]\n", text)


def accepted(text: str, folder: Path) -> str:
    """What ``nginx -t`` says of a configuration."""
    if shutil.which("nginx", path="/usr/sbin:/usr/bin:/bin") is None:
        pytest.skip("needs nginx")
    (folder / "nginx.conf").write_text(text)
    command = ["nginx", "-t", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "/usr/sbin:/usr/bin:/bin"})
    return done.stderr


@pytest.mark.parametrize("requests", [None, 500])
def test_nginx_takes_the_configuration(requests: int | None, tmp_path: Path) -> None:
    proxy = Proxy(workers=2, connections=64, keepalive_requests=requests)
    output = accepted(
        configuration(proxy, f"unix:{tmp_path}/socket", servers(["127.0.0.1:1", "127.0.0.1:2"])), tmp_path
    )
    assert "test is successful" in output, output


@pytest.fixture
def hotel(own_folders: Path, tmp_path: Path) -> Iterator[Process]:
    """Hotel Reservation with two front ends behind NGINX, as processes; seeded and ready."""
    application = catalogue.load("hotel-reservation").application
    two = application.services["frontend"].model_copy(update={"replicas": 2})
    application = application.model_copy(update={"services": {**application.services, "frontend": two}})
    settings = Settings.model_validate({"proxy": {"workers": 2, "connections": 256}})
    nodes = Local(Cluster()).sketch("process", 0)
    deployment = resolve(application, settings, nodes, {}, catalogue.software(), "test-proxy")
    process = Process(deployment, tmp_path / "run")
    try:
        seeder = Seeder(stone_binary(), application, process, deployment)
    except PreflightError as error:
        pytest.skip(str(error))
    if any(finding.level == "error" for finding in process.preflight()):
        pytest.skip(f"needs software: {process.preflight()}")
    try:
        process.apply(stores_only=True)
        process.ready(stores_only=True)
        assert process.logs("nginx") == {"nginx-1": ""}, "it is no store"
        seeder.seed()
        process.apply()
        process.ready()
        yield process
    finally:
        process.remove()


@pytest.mark.system
@pytest.mark.servers
def test_a_real_nginx_passes_requests_on_to_all_front_ends(hotel: Process) -> None:
    (entry,) = hotel.addresses("nginx", "http")
    assert hotel.deployment.entry.service == "nginx"
    before = hotel.usage()
    for _ in range(200):
        with urllib.request.urlopen(
            f"http://{entry}/recommendations?require=dis&lat=38&lon=-122", timeout=60
        ) as answer:
            assert answer.status == 200 and answer.headers["Server"].startswith("nginx/")
    after = hotel.usage()
    for name in ("nginx-1", "frontend-1", "frontend-2"):
        assert after[name].cpu_s > before[name].cpu_s
    assert [row for row in hotel.audit() if not row.ok] == []
    assert {row.replica for row in hotel.audit()} >= {"nginx-1"}
    assert hotel.events() == []
    assert hotel.versions()["nginx"].startswith("1.")
    front = hotel.addresses("frontend", "http")
    written = (hotel.folder / "configs/nginx-1/nginx.conf").read_text()
    assert all(f"server {address};" in written for address in front) and f"listen {entry};" in written
