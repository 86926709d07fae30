"""What runs on a manager: etcd, the API server, the controllers, the scheduler, and DNS."""

from __future__ import annotations

from loadstone.infrastructure.software.base import Member
from loadstone.infrastructure.software.kubernetes.certificates import Certificates
from loadstone.infrastructure.software.kubernetes.plan import API_PORT, DNS_READY_PORT, SERVICES, ClusterPlan, write

API_SERVER = "kube-apiserver"
PEERS_PORT = 2380
_STORE = "http://127.0.0.1:2379"
"""Only the manager itself reaches its etcd: to reach it is to own the cluster."""


def start_store_and_api(member: Member, plan: ClusterPlan, certificates: Certificates) -> None:
    """Start etcd, one of as many as there are managers, and the API server that keeps its objects there."""
    peers = {manager.name: f"https://{manager.address}:{PEERS_PORT}" for manager in plan.managers}
    pki = certificates.write(
        member, "ca.crt", "etcd.crt", "etcd.key", "api-server.crt", "api-server.key", "kubelet-client.crt",
        "kubelet-client.key", "accounts.crt", "accounts.key",
    )  # fmt: skip
    etcd = plan.command(
        member,
        "etcd",
        "--peer-client-cert-auth",
        "--unsafe-no-fsync",  # the cluster does not outlive a loss of power
        name=member.name,
        data_dir=member.folder / "etcd",
        listen_client_urls=_STORE,
        advertise_client_urls=_STORE,
        listen_peer_urls=peers[member.name],
        initial_advertise_peer_urls=peers[member.name],
        initial_cluster=",".join(f"{name}={url}" for name, url in peers.items()),
        peer_cert_file=pki["etcd.crt"],
        peer_key_file=pki["etcd.key"],
        peer_trusted_ca_file=pki["ca.crt"],
        heartbeat_interval=300,  # ms; emulated hosts share a few cores, which are busy at times
        election_timeout=3000,
        log_level="warn",
    )
    api = plan.command(
        member,
        API_SERVER,
        advertise_address=member.address,
        bind_address=member.address,
        secure_port=API_PORT,
        etcd_servers=_STORE,
        service_cluster_ip_range=SERVICES,
        authorization_mode="Node,RBAC",
        enable_admission_plugins="NodeRestriction",
        client_ca_file=pki["ca.crt"],
        tls_cert_file=pki["api-server.crt"],
        tls_private_key_file=pki["api-server.key"],
        kubelet_client_certificate=pki["kubelet-client.crt"],
        kubelet_client_key=pki["kubelet-client.key"],
        kubelet_preferred_address_types="InternalIP",
        service_account_key_file=pki["accounts.crt"],
        service_account_signing_key_file=pki["accounts.key"],
        service_account_issuer="https://kubernetes.default.svc.cluster.local",
    )
    member.spawn("etcd", etcd)
    member.spawn(API_SERVER, api)


def start_controllers(member: Member, plan: ClusterPlan, certificates: Certificates) -> None:
    """Start the controllers, the scheduler and DNS; of the first two, one of those on all managers leads."""
    several = str(len(plan.managers) > 1).lower()
    pki = certificates.write(member, "ca.crt", "accounts.key")
    controllers = plan.command(
        member,
        "kube-controller-manager",
        kubeconfig=certificates.write_kubeconfig("kube-controller-manager", member),
        bind_address="127.0.0.1",
        leader_elect=several,
        root_ca_file=pki["ca.crt"],
        service_account_private_key_file=pki["accounts.key"],
        use_service_account_credentials="true",
        flex_volume_plugin_dir=member.folder / "volume-plugins",
        node_monitor_period="1s",
        node_monitor_grace_period="16s",  # four missed leases, see kubelet.yaml
    )
    scheduler = plan.command(
        member,
        "kube-scheduler",
        kubeconfig=certificates.write_kubeconfig("kube-scheduler", member),
        bind_address="127.0.0.1",
        leader_elect=several,
    )
    names = write(
        member,
        "Corefile",
        "Corefile.j2",
        address=member.address,
        ready_port=DNS_READY_PORT,
        kubeconfig=certificates.write_kubeconfig("coredns", member),
    )
    member.spawn("kube-controller-manager", controllers)
    member.spawn("kube-scheduler", scheduler)
    member.spawn("coredns", plan.command(member, "coredns", "-conf", names))
