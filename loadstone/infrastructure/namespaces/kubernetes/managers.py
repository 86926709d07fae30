"""What runs on a manager: etcd, the API server, the controllers, the scheduler, and DNS."""

from __future__ import annotations

from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.namespaces.kubernetes.certificates import Certificates
from loadstone.infrastructure.namespaces.kubernetes.plan import API_PORT, DNS_READY_PORT, SERVICES, Plan, fill

API_SERVER = "kube-apiserver"
_PEERS_PORT = 2380
_STORE = "http://127.0.0.1:2379"
"""Nobody but the host itself reaches its etcd: whoever does owns the cluster."""


def start_store_and_api(host: Host, plan: Plan, certificates: Certificates) -> None:
    """Start etcd, a member of as many as there are managers, and the API server that keeps its objects there."""
    peers = {manager.name: f"https://{manager.address}:{_PEERS_PORT}" for manager in plan.managers}
    etcd = plan.command(
        "etcd",
        "--peer-client-cert-auth",
        "--unsafe-no-fsync",  # the cluster does not outlive this machine's power
        name=host.name,
        data_dir=host.folder / "etcd",
        listen_client_urls=_STORE,
        advertise_client_urls=_STORE,
        listen_peer_urls=peers[host.name],
        initial_advertise_peer_urls=peers[host.name],
        initial_cluster=",".join(f"{name}={url}" for name, url in peers.items()),
        peer_cert_file=certificates.file("etcd.crt"),
        peer_key_file=certificates.file("etcd.key"),
        peer_trusted_ca_file=certificates.file("ca.crt"),
        heartbeat_interval=300,  # ms; all hosts share a few cores, which are busy at times
        election_timeout=3000,
        log_level="warn",
    )
    api = plan.command(
        API_SERVER,
        advertise_address=host.address,
        bind_address=host.address,
        secure_port=API_PORT,
        etcd_servers=_STORE,
        service_cluster_ip_range=SERVICES,
        authorization_mode="Node,RBAC",
        enable_admission_plugins="NodeRestriction",
        client_ca_file=certificates.file("ca.crt"),
        tls_cert_file=certificates.file("api-server.crt"),
        tls_private_key_file=certificates.file("api-server.key"),
        kubelet_client_certificate=certificates.file("kubelet-client.crt"),
        kubelet_client_key=certificates.file("kubelet-client.key"),
        kubelet_preferred_address_types="InternalIP",
        service_account_key_file=certificates.file("accounts.crt"),
        service_account_signing_key_file=certificates.file("accounts.key"),
        service_account_issuer="https://kubernetes.default.svc.cluster.local",
    )
    host.spawn("etcd", etcd)
    host.spawn(API_SERVER, api)


def start_controllers(host: Host, plan: Plan, certificates: Certificates) -> None:
    """Start the controllers, the scheduler and DNS; of the first two, one of those on all managers leads."""
    several = str(len(plan.managers) > 1).lower()
    controllers = plan.command(
        "kube-controller-manager",
        kubeconfig=plan.kubeconfig("kube-controller-manager", host),
        bind_address="127.0.0.1",
        leader_elect=several,
        root_ca_file=certificates.file("ca.crt"),
        service_account_private_key_file=certificates.file("accounts.key"),
        use_service_account_credentials="true",
        flex_volume_plugin_dir=host.folder / "volume-plugins",
        node_monitor_period="1s",
        node_monitor_grace_period="16s",  # four missed leases, see kubelet.yaml
    )
    scheduler = plan.command(
        "kube-scheduler",
        kubeconfig=plan.kubeconfig("kube-scheduler", host),
        bind_address="127.0.0.1",
        leader_elect=several,
    )
    names = fill(
        "Corefile.j2",
        host.folder / "Corefile",
        address=host.address,
        ready_port=DNS_READY_PORT,
        kubeconfig=plan.kubeconfig("coredns", host),
    )
    host.spawn("kube-controller-manager", controllers)
    host.spawn("kube-scheduler", scheduler)
    host.spawn("coredns", plan.command("coredns", "-conf", str(names)))
