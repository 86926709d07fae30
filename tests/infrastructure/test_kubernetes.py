"""Names, addresses and files of a Kubernetes cluster on its members; nothing is started."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import tempfile
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.infrastructure.machines import Completed
from loadstone.infrastructure.namespaces import network
from loadstone.infrastructure.software.base import Member, listening
from loadstone.infrastructure.software.footprint import difference
from loadstone.infrastructure.software.kubernetes import Kubernetes, managers, pause, workers
from loadstone.infrastructure.software.kubernetes.certificates import Certificates, node_user
from loadstone.infrastructure.software.kubernetes.plan import BRIDGE, PODS, SERVICES, ClusterPlan, fill
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.deployments import NodeDeployment, SpawnArgs

FOLDER = "/var/lib/loadstone/deployments/c/data"


class Recorded:
    """A machine that keeps what is written to it and spawned on it; ``failing``: the first words of commands."""

    def __init__(self, name: str, *failing: str) -> None:
        self.name = name
        self.files: dict[str, tuple[str, int]] = {}
        self.spawned: dict[str, tuple[str, ...]] = {}
        self.commands: list[list[str]] = []
        self._failing = failing

    def deployment(self, name: str) -> NodeDeployment:
        return NodeDeployment.model_validate(
            {"deployment": name, "digest": "d", "owner": "o", "folder": FOLDER, "group": "loadstone/c", "processes": []}
        )

    def put(self, content: bytes, path: str, mode: int) -> None:
        self.files[path.removeprefix(f"{FOLDER}/")] = (content.decode(errors="replace"), mode)

    def spawn(self, args: SpawnArgs) -> None:
        self.spawned[args.name] = args.argv

    def run(self, argv: list[str], given: bytes = b"", within_s: float = 0) -> Completed:
        self.commands.append(list(argv))
        return Completed(1 if argv[0] in self._failing else 0, "", "")


def member(name: str, number: int, *failing: str) -> tuple[Member, Recorded]:
    recorded = Recorded(name, *failing)
    role: Any = name.partition("-")[0]
    machine: Any = recorded
    return Member(name, role, f"198.18.{number // 250}.{number % 250 + 2}", machine, "c"), recorded


def plan(manager_count: int, worker_count: int) -> ClusterPlan:
    names = [f"manager-{n + 1}" for n in range(manager_count)] + [f"worker-{n + 1}" for n in range(worker_count)]
    members = [member(name, number)[0] for number, name in enumerate(names)]
    binaries = dict.fromkeys(names, "/bin/kubernetes")
    return ClusterPlan(tuple(members[:manager_count]), tuple(members[manager_count:]), binaries)


def recorded(of: Member) -> Recorded:
    machine: Any = of.machine
    assert isinstance(machine, Recorded)
    return machine


@pytest.fixture(scope="module")
def certified() -> tuple[ClusterPlan, Certificates]:
    made = plan(3, 2)
    return made, Certificates(made)


def test_pods_of_each_worker_have_addresses_of_their_own() -> None:
    made = plan(1, 1000)
    networks = [made.pods_of(worker) for worker in made.workers]
    assert len(set(networks)) == 1000 and all(pods.subnet_of(PODS) and pods.prefixlen == 24 for pods in networks)
    assert not any(ours.overlaps(network.RESERVED) for ours in (PODS, SERVICES))
    assert not PODS.overlaps(SERVICES)


def test_a_worker_finds_an_api_server_that_lives() -> None:
    alone, several = plan(1, 1), plan(3, 1)
    assert alone.server(alone.workers[0]) == "https://198.18.0.2:6443"
    assert several.server(several.workers[0]) == "https://127.0.0.1:6443"  # of a proxy that knows all three
    assert [several.server(manager) for manager in several.managers] == [
        f"https://198.18.0.{n}:6443" for n in (2, 3, 4)
    ]


def test_no_more_name_servers_than_a_resolver_uses() -> None:
    assert plan(5, 1).domain_servers == ["198.18.0.2", "198.18.0.3", "198.18.0.4"]


def test_flags_as_programs_of_kubernetes_take_them() -> None:
    made = plan(1, 1)
    command = made.command(made.managers[0], "etcd", "--quiet", data_dir=Path("/data"), port=1)
    assert command == ["/bin/kubernetes", "etcd", "--quiet", "--data-dir=/data", "--port=1"]


def test_the_kubelet_s_settings(certified: tuple[ClusterPlan, Certificates]) -> None:
    made, certificates = certified
    workers.start_node(made.workers[0], made, certificates)
    machine = recorded(made.workers[0])
    settings = yaml.safe_load(machine.files["kubelet.yaml"][0])
    assert settings["cgroupRoot"] == "/loadstone/c/containers"  # removing the deployment ends its pods
    assert settings["kubeletCgroups"] == "/loadstone/c/kubelet"
    assert settings["podLogsDir"] == f"{FOLDER}/pod-logs"
    assert settings["clusterDNS"] == made.domain_servers
    assert set(settings["evictionHard"].values()) == {"0%"}
    assert set(machine.spawned) == {"kubelet", "kube-proxy", "haproxy"}
    assert f"--kubeconfig={FOLDER}/kubelet.kubeconfig" in machine.spawned["kubelet"]


def test_the_way_to_the_managers() -> None:
    text = fill("haproxy.cfg.j2", managers=plan(3, 1).managers, port=6443)
    servers = [line.split()[1:] for line in text.splitlines() if line.strip().startswith("server ")]
    assert servers == [[f"manager-{n}", f"198.18.0.{n + 1}:6443"] for n in (1, 2, 3)]


def test_settings_of_the_network_of_pods() -> None:
    text = fill("bridge.conflist.j2", pods=IPv4Network("10.244.7.0/24"), bridge=BRIDGE)
    (plugin,) = json.loads(text)["plugins"]
    assert plugin["ipam"]["ranges"] == [[{"subnet": "10.244.7.0/24"}]]


def test_the_link_and_the_rules_of_pods_are_known_to_be_ours() -> None:
    """What takes back a machine's network knows them by their names."""
    before = ["link lo", "link eth0", "iptables *filter", "iptables :FORWARD DROP [0:0]", "iptables COMMIT"]
    rules = [f"iptables -A FORWARD {way} {BRIDGE} -j ACCEPT" for way in ("-i", "-o")]
    after = [*before[:-1], *rules, before[-1], f"link {BRIDGE}"]
    removal = difference("\n".join(before), "\n".join(after))
    assert removal.links == (BRIDGE,)
    assert removal.rules["iptables"].count("-D FORWARD") == 2


def test_an_engine_keeps_to_the_folder_of_its_member() -> None:
    made = plan(1, 1)
    workers.start_engine(made.workers[0], made, "registry.lab:5000")
    machine = recorded(made.workers[0])
    settings = machine.files["containerd.toml"][0]
    assert f'root = "{FOLDER}/containerd"' in settings and f'address = "{FOLDER}/cri.sock"' in settings
    assert 'server = "http://registry.lab:5000"' in machine.files["registries/registry.lab:5000/hosts.toml"][0]
    layers = machine.commands[0]
    assert layers[-2:] == ["/var/lib/loadstone", "/bin"]  # programs and the journal stay visible


def test_a_worker_without_plugins() -> None:
    worker, _ = member("worker-1", 1, "test")
    with pytest.raises(DeploymentError, match="worker-1: the plugins that connect pods are not installed"):
        workers.plugin_folder(worker)


def test_certificates_are_what_they_claim(certified: tuple[ClusterPlan, Certificates], tmp_path: Path) -> None:
    made, certificates = certified
    names = ["ca", "api-server", "etcd", node_user(made.workers[1])]
    for name in names:
        (tmp_path / f"{name}.crt").write_text(certificates.text(f"{name}.crt"))
    for name, usage in (
        ("api-server", "sslserver"),
        ("etcd", "sslserver"),
        ("etcd", "sslclient"),
        ("node-worker-2", "sslclient"),
    ):
        verify = ["openssl", "verify", "-x509_strict", "-purpose", usage, "-CAfile", str(tmp_path / "ca.crt")]
        done = subprocess.run([*verify, tmp_path / f"{name}.crt"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    decode = ssl._ssl._test_decode_cert  # type: ignore[attr-defined]
    server = decode(tmp_path / "api-server.crt")
    addresses = {value for kind, value in server["subjectAltName"] if kind == "IP Address"}
    assert addresses == {"127.0.0.1", "10.96.0.1", "198.18.0.2", "198.18.0.3", "198.18.0.4"}
    kubelet = decode(tmp_path / "node-worker-2.crt")["subject"]
    assert kubelet == ((("organizationName", "system:nodes"),), (("commonName", "system:node:worker-2"),))


def test_keys_reach_only_members_that_need_them(certified: tuple[ClusterPlan, Certificates]) -> None:
    made, certificates = certified
    for manager in made.managers:
        managers.start_store_and_api(manager, made, certificates)
        managers.start_controllers(manager, made, certificates)
    for worker in made.workers:
        workers.start_engine(worker, made, "")
        workers.start_node(worker, made, certificates)
    for each in made.members:
        files = recorded(each).files
        marks = ("PRIVATE KEY", "client-key-data")
        secret = {name: mode for name, (text, mode) in files.items() if any(mark in text for mark in marks)}
        assert secret and set(secret.values()) == {0o600}
        assert not any(certificates.text("ca.key") in text for text, _ in files.values())
        expected = {"pki/etcd.key", "pki/api-server.key", "pki/kubelet-client.key", "pki/accounts.key"}
        assert {name for name in secret if name.endswith(".key")} == (expected if each.role == "manager" else set())
    assert not list(Path(tempfile.gettempdir()).glob("loadstone-pki-*/ca.key"))


def test_kubeconfigs_hold_all_that_is_needed(certified: tuple[ClusterPlan, Certificates]) -> None:
    made, certificates = certified
    data = yaml.safe_load(certificates.kubeconfig("admin", made.managers[1]))
    assert data["clusters"][0]["cluster"]["server"] == "https://198.18.0.3:6443"
    assert {key for part in (data["clusters"][0]["cluster"], data["users"][0]["user"]) for key in part} == {
        "server", "certificate-authority-data", "client-certificate-data", "client-key-data"
    }  # fmt: skip


def test_the_image_of_a_pod_s_namespaces(tmp_path: Path) -> None:
    pause.write(tmp_path / "pause.tar")
    pause.write(tmp_path / "again.tar")
    assert (tmp_path / "pause.tar").read_bytes() == (tmp_path / "again.tar").read_bytes()


def test_a_node_of_another_cluster_is_no_member() -> None:
    free, used = Recorded("node-7", "grep"), Recorded("node-8")
    machines: Any = [free, used]
    (finding,) = Kubernetes().conflicts(machines)
    assert finding.message.startswith("node-8: a kubelet of its own listens on port 10250")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert subprocess.run(listening([port]), check=False).returncode == 0
    assert subprocess.run(listening([port]), check=False).returncode == 1


def test_what_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    machine: Any = Recorded("node-7", "sh")
    remedies = {finding.message: finding.remedy for finding in Kubernetes().preflight([machine])}
    assert remedies["node-7: the plugins that connect pods are not installed"].endswith("containernetworking-plugins")
    assert remedies["openssl, which issues certificates, is not here"] == "sudo apt-get install -y openssl"
