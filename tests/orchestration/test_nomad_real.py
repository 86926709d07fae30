"""Nomad for real, on emulated hosts: one manager and two workers that all tests share."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access, Provision
from loadstone.infrastructure.existing import Existing
from loadstone.infrastructure.failover import Refused
from loadstone.infrastructure.software.nomad import api, credentials
from loadstone.infrastructure.software.nomad import found as nomad_found
from loadstone.model.cluster import Cluster
from loadstone.model.deployment import Deployment, FoundReplica
from loadstone.model.errors import DeploymentError, PreflightError
from loadstone.orchestration.nomad import Nomad
from tests.orchestration import rendered
from tests.orchestration.conftest import deployed, parse
from tests.support import groups
from tests.support.applications import SMALL, with_patience
from tests.support.clusters import SharedClusters

pytestmark = [pytest.mark.root, pytest.mark.nomad, pytest.mark.timeout(1800)]


@pytest.fixture
def cluster(shared_clusters: SharedClusters, place: Path) -> Provision:
    return shared_clusters("nomad").provision


@pytest.fixture
def access(cluster: Provision) -> Access:
    assert cluster.access is not None
    return cluster.access


@pytest.fixture
def small(cluster: Provision, access: Access, tmp_path: Path) -> Iterator[Nomad]:
    """Two services, not started yet; removed when the test ends."""
    made = Nomad(deployment(cluster, access), tmp_path / "run", access)
    yield made
    made.remove()
    assert made._find() == [] and containers(access) == []


def deployment(cluster: Provision, access: Access, text: str = SMALL, name: str = "small", **more: Any) -> Deployment:
    images.deliver(access, ["stone"])
    application = with_patience(parse(text.replace("STONE", images.reference("stone", access))))
    return deployed(application, list(cluster.nodes), f"{name}-{os.getpid()}", **more)


def containers(access: Access) -> list[str]:
    return [line for url in access.engines.values() for line in on(url, "ps", "--all", "--quiet").split()]


def on(url: str, *arguments: str) -> str:
    return subprocess.run(["docker", "--host", url, *arguments], capture_output=True, text=True, check=True).stdout


def found(orchestrator: Nomad) -> dict[str, FoundReplica]:
    return {replica.name: replica for replica in orchestrator._find()}


def until(condition: Callable[[], Any]) -> None:
    """Until it holds; the test's own time limit is the only one."""
    while not condition():
        time.sleep(0.1)


@pytest.mark.parametrize(("application", "scaling"), (*rendered.PINNED_SETS, *rendered.SETS))
def test_every_application_s_files_are_accepted(access: Access, application: str, scaling: str) -> None:
    wanted = rendered.deployment(application, "nomad", scaling=scaling)
    for name, text in rendered.files(wanted, "nomad").items():
        accepted(access, name, text)


def accepted(access: Access, name: str, text: str) -> None:
    """The cluster takes a job file, and so does the driver of its tasks."""
    nomad = api.nomad_of(access)
    job = nomad.post("/v1/jobs/parse", {"JobHCL": text, "Canonicalize": True})
    answer = nomad.post("/v1/validate/job", {"Job": job})
    assert answer["DriverConfigValidated"] and not answer["ValidationErrors"], (name, answer)


def test_a_deployment_s_life(small: Nomad, access: Access) -> None:
    small.apply(stores_only=True)
    small.ready(stores_only=True)
    assert list(found(small)) == ["cache-1"]
    small.apply()
    small.ready()
    born = {name: each.container for name, each in found(small).items()}
    small.apply()  # changes nothing
    assert {name: each.container for name, each in found(small).items()} == born
    assert small.events() == []
    assert small.audit() and [row for row in small.audit() if not row.ok] == []
    assert {row.what for row in small.audit()} == {"cpu", "memory", "cores", "node", "environment", "kernel", "image"}
    assert set(small.usage()) == {"web-1", "cache-1"}
    assert "listening" in (small.logs()["web-1"] or "")
    assert small.versions()["nomad"] == "1.6.3" and small.versions()["consul"] == "1.14.11"

    web = found(small)["web-1"]
    assert web.addresses["main"].endswith(":8080")  # the entry keeps its port
    url = access.engines[web.node]
    host, _, number = found(small)["cache-1"].addresses["memcached"].partition(":")
    assert number == "11211"  # an image looks up a name, which has no port number
    assert f"{host} cache\n" in inside(url, web, "/etc/hosts")
    assert inside(url, web, "/etc/web/main.conf") == "one {{ two }}\nthree\n"

    on(url, "update", "--cpu-quota", "-1", web.container)
    (wrong,) = [row for row in small.audit() if not row.ok]
    assert (wrong.replica, wrong.what, wrong.wanted, wrong.effective) == ("web-1", "cpu", "0.2", "unlimited")

    small.scale("cache", 2)
    until(lambda: [each.healthy for each in small._find()] == [True] * 3)
    assert len(small.addresses("cache", "memcached")) == 2
    assert {each.node for each in small._find() if each.service == "cache"} == {"worker-1", "worker-2"}
    small.scale("cache", 1)
    until(lambda: len(small._find()) == 2 and len(containers(access)) == 2)


def inside(url: str, replica: FoundReplica, path: str) -> str:
    """A file of a container that has no shell."""
    copied = subprocess.run(
        ["docker", "--host", url, "cp", "--follow-link", f"{replica.container}:{path}", "-"],
        capture_output=True,
        check=True,
    )
    return subprocess.run(["tar", "-xO"], input=copied.stdout, capture_output=True, check=True).stdout.decode()


def test_a_replica_that_ends_is_an_event(small: Nomad) -> None:
    small.apply()
    small.ready()
    groups.kill(groups.of_container(found(small)["web-1"].container))
    until(lambda: "web-1 was replaced: Exit Code: 137" in str(small.events()))
    until(lambda: found(small)["web-1"].healthy)  # Nomad started it again


def test_an_image_that_is_missing(
    cluster: Provision, access: Access, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = deployment(cluster, access, SMALL.replace("STONE", "loadstone/none:1"), "none")
    broken = Nomad(wanted, tmp_path / "run", access)
    monkeypatch.setattr(images, "deliver", lambda *_: {})
    try:
        broken.apply()
        with pytest.raises(DeploymentError, match=r"web-1 cannot be started: Failed to pull `loadstone/none:1`"):
            broken.ready()
    finally:
        broken.remove()


def refused(wanted: Deployment, folder: Path, access: Access) -> str:
    """The error of a deployment that cannot be placed; nothing of it stays."""
    orchestrator = Nomad(wanted, folder, access)
    try:
        with pytest.raises(DeploymentError) as raised:
            orchestrator.apply()
        return str(raised.value)
    finally:
        orchestrator.remove()


def test_a_port_that_is_taken(small: Nomad, cluster: Provision, access: Access, tmp_path: Path) -> None:
    small.apply()
    until(lambda: "web-1" in found(small))
    where = [found(small)["web-1"].node]
    message = refused(
        deployment(cluster, access, name="late", placement={"services": {"web": where}}), tmp_path, access
    )
    assert "web: Nomad finds no node for it: " in message and "port collision main=8080 on 1 of" in message
    assert message.endswith("\n  stop the job that has the port, or use another node")


def test_no_node_has_room(cluster: Provision, access: Access, tmp_path: Path) -> None:
    cores = len(cluster.nodes[-1].cpus)
    # Two of three find room, also beside the cache: the third fails, whichever of the two jobs is placed first.
    large = SMALL.replace("cpu: 0.2", f"cpu: {0.6 * cores:g}").replace(
        "tier: frontend", "tier: frontend\n    replicas: 3"
    )
    wanted = deployment(cluster, access, large, "large")
    assert [
        finding.message for finding in Nomad(wanted, tmp_path, access).preflight() if finding.level == "error"
    ] == []
    message = refused(wanted, tmp_path, access).splitlines()
    assert message[0].startswith("web: Nomad finds no node for it: cpu on ")
    assert (
        message[1]
        == f"  the deployment reserves {1.8 * cores + 0.15:g} CPUs in all; worker-1, worker-2 have {2 * cores}"
    )
    assert message[2].startswith("  set smaller limits")


ASK = """
import sys, urllib.error, urllib.request
within_s, *urls = sys.argv[1:]
for url in urls:
    try:
        print(urllib.request.urlopen(urllib.request.Request(url), timeout=float(within_s)).status)
    except urllib.error.HTTPError as error:
        print(error.code)
    except OSError as error:
        print(getattr(error, "reason", error))
"""
ANSWERED_S, DROPPED_S = 60.0, 2.0
"""An answer may be slow. A request whose packets are dropped always takes its whole limit, so that is short."""


def test_a_request_without_a_token_is_refused(small: Nomad, cluster: Provision, access: Access) -> None:
    small.apply()
    small.ready()
    web = found(small)["web-1"]
    address = {node.name: node.address for node in cluster.nodes}
    manager, worker = address["manager-1"], address[web.node]
    requests = {
        f"http://{worker}:4646/v1/jobs": "403",
        f"http://{worker}:4646/v1/client/stats": "403",
        f"http://{worker}:8500/v1/agent/self": "[Errno 111] Connection refused",
    }
    at_manager = [f"http://{manager}:{path}" for path in ("4646/v1/jobs", "4646/v1/acl/tokens", "8500/v1/agent/self")]
    here = [sys.executable, "-I", "-c", ASK]
    assert answers(here, [*requests, *at_manager]) == requests | dict.fromkeys(at_manager, "403")

    pid = on(access.engines[web.node], "inspect", "--format", "{{.State.Pid}}", web.container).strip()
    inside = ["nsenter", "--target", pid, "--net", *here]
    closed = [*at_manager, f"http://{manager}:4647", f"http://{manager}:8300"]
    assert answers(inside, [*requests]) == requests
    assert answers(inside, closed, DROPPED_S) == dict.fromkeys(closed, "timed out")

    assert urlopen(f"{access.extra['consul']}/v1/catalog/nodes", timeout=ANSWERED_S).read() == b"[]"
    with pytest.raises(Refused) as refused:
        api.nomad(access.addresses, "00000000-0000-4000-8000-000000000000").post("/v1/jobs/parse", {"JobHCL": ""})
    assert refused.value.status == 403


def answers(command: list[str], urls: list[str], within_s: float = ANSWERED_S) -> dict[str, str]:
    """The status or the error by URL."""
    lines = subprocess.run(
        [*command, str(within_s), *urls], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return dict(zip(urls, lines, strict=True))


def test_a_job_gets_no_folder_of_its_host(access: Access) -> None:
    images.deliver(access, ["stone"])
    nomad = api.nomad_of(access)
    hcl = """
        job "host-folder-PID" {
          type = "batch"
          group "g" {
            restart { attempts = 0 }
            reschedule { attempts = 0 }
            task "t" {
              driver = "docker"
              config {
                image   = "IMAGE"
                volumes = ["/etc:/host"]
              }
            }
          }
        }"""
    image = images.reference("stone", access)
    job = nomad.post("/v1/jobs/parse", {"JobHCL": hcl.replace("PID", str(os.getpid())).replace("IMAGE", image)})
    try:
        nomad.post("/v1/jobs", {"Job": job})
        until(lambda: "volumes are not enabled; cannot mount host paths" in str(events(nomad, job["ID"])))
    finally:
        nomad.delete(f"/v1/job/{job['ID']}", purge="true")


def events(nomad: api.NomadApi, job: str) -> list[Any]:
    return [allocation["TaskStates"] for allocation in nomad.get(f"/v1/job/{job}/allocations")]


def test_tokens_are_in_no_file_that_others_read(
    small: Nomad, access: Access, shared_clusters: SharedClusters, place: Path
) -> None:
    small.apply()
    small.ready()
    file = Path(access.extra["credentials"])
    tokens = [value.encode() for name, value in credentials.load(access).items() if name.endswith("_TOKEN")]
    assert len(tokens) == 2 and file.stat().st_mode & 0o777 == 0o600
    holders = []
    tops = (shared_clusters("nomad").place, place, small.folder)
    for path in (Path(at, name) for top in tops for at, _, names in os.walk(top) for name in names):
        with contextlib.suppress(FileNotFoundError):  # agents replace files
            if path.is_file() and any(token in path.read_bytes() for token in tokens):
                holders.append((path, path.stat().st_mode & 0o077))
    assert file in dict(holders) and "consul.json" in {path.name for path, _ in holders}
    assert [path for path, mode in holders if mode] == []
    assert [path for path, _ in holders if path.suffix == ".log"] == []


def test_the_cluster_as_one_that_a_user_has(
    cluster: Provision, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in credentials.load(access).items():
        monkeypatch.setenv(name, value)
    existing = Existing(Cluster(infrastructure="existing", registry="registry.example.org/loadstone"), "unused")
    with pytest.raises(PreflightError, match="no container may see /proc and /sys/fs/cgroup of worker-1, worker-2"):
        existing.provide("nomad", 1, print)
    monkeypatch.setattr(nomad_found, "_require_mounts", lambda nodes: None)  # as if their volumes were enabled
    mine = existing.provide("nomad", 1, print)
    assert [(node.name, node.address) for node in mine.nodes[1:]] == [
        (node.name, node.address) for node in cluster.nodes if node.role == "worker"
    ]
    assert mine.access is not None and mine.access.extra["managers"] == "1"
