"""Names, addresses and files of a Kubernetes cluster on emulated hosts; nothing is started."""

from __future__ import annotations

import json
import ssl
import subprocess
from ipaddress import IPv4Network
from pathlib import Path

import pytest
import yaml

from loadstone.infrastructure.namespaces import kubernetes, network
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.namespaces.kubernetes import pause, workers
from loadstone.infrastructure.namespaces.kubernetes.certificates import Certificates
from loadstone.infrastructure.namespaces.kubernetes.plan import PODS, SERVICES, Plan, fill
from loadstone.model.errors import DeploymentError


def plan(folder: Path, managers: int, count: int) -> Plan:
    names = [f"manager-{n + 1}" for n in range(managers)] + [f"worker-{n + 1}" for n in range(count)]
    hosts = [
        Host(
            name,
            f"198.18.{number // 250}.{number % 250 + 2}",
            f"/run/netns/{name}",
            folder / name,
            f"loadstone/c/{name}",
            "",
        )
        for number, name in enumerate(names)
    ]
    return Plan(tuple(hosts[:managers]), tuple(hosts[managers:]), folder / "kubernetes", Path("/bin/kubernetes"))


def test_pods_of_each_worker_have_addresses_of_their_own(tmp_path: Path) -> None:
    made = plan(tmp_path, 1, 1000)
    networks = [made.pods_of(worker) for worker in made.workers]
    assert len(set(networks)) == 1000 and all(one.subnet_of(PODS) and one.prefixlen == 24 for one in networks)
    assert not any(one.overlaps(other) for one in (PODS, SERVICES) for other in (network.RESERVED,))
    assert not PODS.overlaps(SERVICES)


def test_a_worker_finds_an_api_server_that_lives(tmp_path: Path) -> None:
    alone, several = plan(tmp_path, 1, 1), plan(tmp_path, 3, 1)
    assert alone.server(alone.workers[0]) == "https://198.18.0.2:6443"
    assert several.server(several.workers[0]) == "https://127.0.0.1:6443"  # of a proxy that knows all three
    assert [several.server(host) for host in several.managers] == [f"https://198.18.0.{n}:6443" for n in (2, 3, 4)]


def test_no_more_name_servers_than_a_resolver_asks(tmp_path: Path) -> None:
    assert plan(tmp_path, 5, 1).domain_servers == ["198.18.0.2", "198.18.0.3", "198.18.0.4"]


def test_flags_as_programs_of_kubernetes_take_them(tmp_path: Path) -> None:
    command = plan(tmp_path, 1, 1).command("etcd", "--quiet", data_dir=Path("/data"), port=1)
    assert command == ["/bin/kubernetes", "etcd", "--quiet", "--data-dir=/data", "--port=1"]


def test_the_kubelet_s_settings(tmp_path: Path) -> None:
    worker = plan(tmp_path, 1, 1).workers[0]
    file = fill(
        "kubelet.yaml.j2", tmp_path / "kubelet.yaml", folder=worker.folder, address=worker.address, authority="/ca",
        socket="/run/c.sock", containers=worker.containers, daemons=worker.daemons, domain_servers=["198.18.0.2"],
    )  # fmt: skip
    settings = yaml.safe_load(file.read_text())
    assert settings["cgroupRoot"] == "/loadstone/c/worker-1/containers"  # removing the host ends its pods
    assert settings["kubeletCgroups"] == "/loadstone/c/worker-1/daemons"
    assert settings["clusterDNS"] == ["198.18.0.2"]
    assert set(settings["evictionHard"].values()) == {"0%"}


def test_the_way_to_the_managers(tmp_path: Path) -> None:
    made = plan(tmp_path, 3, 1)
    text = fill("haproxy.cfg.j2", tmp_path / "haproxy.cfg", managers=made.managers, port=6443).read_text()
    servers = [line.split()[1:] for line in text.splitlines() if line.strip().startswith("server ")]
    assert servers == [[f"manager-{n}", f"198.18.0.{n + 1}:6443"] for n in (1, 2, 3)]


def test_settings_of_the_network_of_pods(tmp_path: Path) -> None:
    text = fill("bridge.conflist.j2", tmp_path / "pods.conflist", pods=IPv4Network("10.244.7.0/24")).read_text()
    (plugin,) = json.loads(text)["plugins"]
    assert plugin["ipam"]["ranges"] == [[{"subnet": "10.244.7.0/24"}]]


def test_a_path_that_is_too_long_for_a_socket(tmp_path: Path) -> None:
    worker = plan(Path("/" + "x" * 90), 1, 1).workers[0]
    with pytest.raises(DeploymentError, match="too long for a socket: 116 bytes, 101 at most\n  set LOADSTONE_DATA"):
        workers.socket(worker)


def test_certificates_are_what_they_claim(tmp_path: Path) -> None:
    made = plan(tmp_path, 3, 2)
    made.folder.mkdir()
    certificates = Certificates(made)
    certificates.make()
    assert certificates.folder.stat().st_mode & 0o777 == 0o700
    for name, usage in (
        ("api-server", "sslserver"),
        ("etcd", "sslserver"),
        ("etcd", "sslclient"),
        ("worker-2", "sslclient"),
    ):
        verify = ["openssl", "verify", "-x509_strict", "-purpose", usage, "-CAfile", certificates.file("ca.crt")]
        done = subprocess.run([*verify, certificates.file(f"{name}.crt")], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    decode = ssl._ssl._test_decode_cert  # type: ignore[attr-defined]
    server = decode(certificates.file("api-server.crt"))
    addresses = {value for kind, value in server["subjectAltName"] if kind == "IP Address"}
    assert addresses == {"127.0.0.1", "10.96.0.1", "198.18.0.2", "198.18.0.3", "198.18.0.4"}
    kubelet = decode(certificates.file("worker-2.crt"))["subject"]
    assert kubelet == ((("organizationName", "system:nodes"),), (("commonName", "system:node:worker-2"),))


def test_kubeconfigs_are_for_their_owner_alone(tmp_path: Path) -> None:
    made = plan(tmp_path, 3, 1)
    made.folder.mkdir()
    Certificates(made).make()
    assert [file.name for file in made.admin_files] == [f"admin-manager-{n}.kubeconfig" for n in (1, 2, 3)]
    files = list(made.folder.glob("*.kubeconfig"))
    assert len(files) == 3 * 4 + 2 and {file.stat().st_mode & 0o777 for file in files} == {0o600}
    said = yaml.safe_load(made.admin_files[1].read_text())
    assert said["clusters"][0]["cluster"]["server"] == "https://198.18.0.3:6443"


def test_the_image_of_a_pod_s_namespaces(tmp_path: Path) -> None:
    pause.write(tmp_path / "pause.tar")
    pause.write(tmp_path / "again.tar")
    assert (tmp_path / "pause.tar").read_bytes() == (tmp_path / "again.tar").read_bytes()


def test_what_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PLUGINS", ("/nowhere",))
    monkeypatch.setenv("PATH", "/nowhere")
    remedies = {one.what: one.remedy for one in kubernetes.preflight()}
    assert remedies["CNI plugins"] == "sudo apt-get install -y containernetworking-plugins"
    assert remedies["openssl"] == "sudo apt-get install -y openssl"
