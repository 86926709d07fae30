"""What runs on a worker: containerd, the kubelet, kube-proxy, and a way to the API servers where there are several."""

from __future__ import annotations

import os
from pathlib import Path

from loadstone.infrastructure import cgroup
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.namespaces.kubernetes import pause
from loadstone.infrastructure.namespaces.kubernetes.certificates import Certificates
from loadstone.infrastructure.namespaces.kubernetes.plan import API_PORT, PODS, Plan, fill
from loadstone.model.errors import DeploymentError

CONTAINERD = "containerd"
PLUGINS = ("/usr/lib/cni", "/opt/cni/bin")
"""Where distributions put the plugins that connect pods."""
_LONGEST_SOCKET = 107 - len(".ttrpc")
"""Bytes in the path of a Unix socket, of which containerd makes a second one."""
_OWN_LAYERS = """
mkdir -p /run/.host/here
mount --bind {folder} /run/.host/here
for place in lib log; do
  mkdir -p /run/.host/var-$place /run/.host/var-$place.work
  layers=lowerdir=/var/$place,upperdir=/run/.host/var-$place,workdir=/run/.host/var-$place.work
  mount -t overlay -o $layers overlay /var/$place
done
mount --bind /run/.host/here {folder}
"""
"""The kubelet and the plugins write below /var/lib and /var/log; the cluster's folder may lie there and stays as is."""


def socket(worker: Host) -> str:
    """Where containerd answers, from this machine too."""
    path = str(worker.folder / "containerd.sock")
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        raise DeploymentError(
            f"{path} is too long for a socket: {len(os.fsencode(path))} bytes, {_LONGEST_SOCKET} at most",
            "set LOADSTONE_DATA to a folder with a shorter path",
        )
    return path


def start_engine(worker: Host, plan: Plan, registry: str) -> None:
    """Start containerd; ``registry``: a ``host:port`` to trust without TLS."""
    (worker.folder / "cni").mkdir()
    (worker.folder / "registries" / registry).mkdir(parents=True)
    if registry:
        fill("registry.toml.j2", worker.folder / "registries" / registry / "hosts.toml", registry=registry)
    fill("bridge.conflist.j2", worker.folder / "cni" / "pods.conflist", pods=plan.pods_of(worker))
    settings = fill(
        "containerd.toml.j2",
        worker.folder / "containerd.toml",
        folder=worker.folder,
        socket=socket(worker),
        pause=pause.REFERENCE,
        plugins=next(place for place in PLUGINS if Path(place, "bridge").exists()),
    )
    mounts = _OWN_LAYERS.format(folder=plan.folder.parent)
    worker.spawn(CONTAINERD, [CONTAINERD, "--config", str(settings)], mounts=mounts)


def connect(host: Host, plan: Plan) -> None:
    """Let a host find the pods on all workers."""
    routes = [f"route replace {plan.pods_of(worker)} via {worker.address}" for worker in plan.workers if worker != host]
    done = host.run(["ip", "-batch", "-"], input="\n".join(routes) + "\n")
    if done.returncode != 0:
        raise DeploymentError(f"{host.name} gets no routes to the pods: {done.stderr.strip()}")


def start_node(worker: Host, plan: Plan, certificates: Certificates) -> None:
    """Start what makes a node of the worker."""
    if len(plan.managers) > 1:
        ways = fill("haproxy.cfg.j2", worker.folder / "haproxy.cfg", managers=plan.managers, port=API_PORT)
        worker.spawn("haproxy", ["haproxy", "-db", "-f", str(ways)])
    for group in (worker.containers, worker.daemons):  # the kubelet wants its groups in every hierarchy
        for folder in cgroup.find().everywhere(group):
            cgroup.make_folders(folder)
    kubelet = fill(
        "kubelet.yaml.j2",
        worker.folder / "kubelet.yaml",
        folder=worker.folder,
        address=worker.address,
        authority=certificates.file("ca.crt"),
        socket=socket(worker),
        containers=worker.containers,
        daemons=worker.daemons,
        domain_servers=plan.domain_servers,
    )
    proxy = fill(
        "kube-proxy.yaml.j2",
        worker.folder / "kube-proxy.yaml",
        name=worker.name,
        address=worker.address,
        kubeconfig=plan.kubeconfig("kube-proxy", worker),
        pods=PODS,
    )
    root = worker.folder / "kubelet"
    worker.spawn(
        "kubelet",
        plan.command(
            "kubelet",
            config=kubelet,
            kubeconfig=plan.kubeconfig("kubelet", worker),
            root_dir=root,
            cert_dir=root / "pki",
            hostname_override=worker.name,
            node_ip=worker.address,
        ),
    )
    worker.spawn("kube-proxy", plan.command("kube-proxy", config=proxy))
