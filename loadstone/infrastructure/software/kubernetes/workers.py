"""What runs on a worker: containerd, the kubelet, kube-proxy, and a way to the API servers where there are several."""

from __future__ import annotations

from pathlib import PurePosixPath

from loadstone.infrastructure.machines import Completed
from loadstone.infrastructure.software.base import Member
from loadstone.infrastructure.software.kubernetes import pause
from loadstone.infrastructure.software.kubernetes.certificates import Certificates, node_user
from loadstone.infrastructure.software.kubernetes.plan import API_PORT, BRIDGE, PODS, ClusterPlan, fill, write
from loadstone.model.errors import DeploymentError

CONTAINERD = "containerd"
SOCKET = "cri.sock"
"""In the folder of a member, whose path may be long: a socket's has 107 bytes at most."""
PLUGIN_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin")
"""Where distributions put the plugins that connect pods."""
INSTALL_PLUGINS = "sudo apt-get install -y containernetworking-plugins"
_ROUTES = "176"
"""The protocol number of our routes, by which they are known; ip-route(8) leaves it to the administrator."""


def start_engine(worker: Member, plan: ClusterPlan, registry: str) -> None:
    """Start containerd; ``registry``: a ``host:port`` to trust without TLS."""
    # Programs and the journal of the machine's node lie next to the deployments.
    kept = [str(worker.folder.parents[2]), str(PurePosixPath(plan.binaries[worker.name]).parent)]
    _done(
        worker,
        worker.run(["sh", "-c", fill("layers.sh"), "layers", str(worker.folder / "kubelet"), *kept]),
        "no folders of its own below /var",
    )
    if registry:
        write(worker, f"registries/{registry}/hosts.toml", "registry.toml.j2", registry=registry)
    network = {"pods": plan.pods_of(worker), "bridge": BRIDGE}
    write(worker, "cni/pods.conflist", "bridge.conflist.j2", **network)
    settings = write(
        worker,
        "containerd.toml",
        "containerd.toml.j2",
        folder=worker.folder,
        socket=worker.folder / SOCKET,
        pause=pause.REFERENCE,
        plugins=plugin_folder(worker),
    )
    worker.spawn(CONTAINERD, [CONTAINERD, "--config", settings])


def plugin_folder(worker: Member) -> str:
    """Where a worker's plugins are. Raises DeploymentError where there are none."""
    for folder in PLUGIN_FOLDERS:
        if worker.run(["test", "-x", f"{folder}/bridge"]).code == 0:
            return folder
    raise DeploymentError(f"{worker.name}: the plugins that connect pods are not installed", INSTALL_PLUGINS)


def ctr(worker: Member, *arguments: str) -> list[str]:
    """The command line of a client of containerd, on the worker."""
    return ["ctr", "--address", str(worker.folder / SOCKET), "--namespace", "k8s.io", *arguments]


def load_pause(worker: Member, archive: bytes) -> None:
    """Load the image that every pod needs into a worker's containerd, which answers."""
    done = worker.run(ctr(worker, "images", "import", worker.write("pause.tar", archive)))
    _done(worker, done, "containerd does not take the image of pods")


def connect(member: Member, plan: ClusterPlan) -> None:
    """Let a member find the pods on all workers."""
    others = [worker for worker in plan.workers if worker.name != member.name]
    routes = [f"route replace {plan.pods_of(worker)} via {worker.address} proto {_ROUTES}" for worker in others]
    _done(member, member.run(["ip", "-batch", "-"], given="\n".join(routes) + "\n"), "no routes to the pods")
    if member.role == "worker":  # Docker's engine, where the machine has one, drops what no rule accepts
        for direction in ("-i", "-o"):
            rule = ["FORWARD", direction, BRIDGE, "-j", "ACCEPT"]
            _done(member, member.run(["iptables", "-w", "-I", *rule]), "no firewall rule for pods")


def disconnect(member: Member) -> None:
    """Take the routes to pods away again. May be called twice."""
    member.machine.output(["ip", "-4", "route", "flush", "root", str(PODS), "proto", _ROUTES])


def start_node(worker: Member, plan: ClusterPlan, certificates: Certificates) -> None:
    """Start what makes a node of the worker."""
    if len(plan.managers) > 1:
        ways = write(worker, "haproxy.cfg", "haproxy.cfg.j2", managers=plan.managers, port=API_PORT)
        worker.spawn("haproxy", ["haproxy", "-db", "-f", ways])
    done = worker.run(["sh", "-c", fill("groups.sh"), "groups", worker.containers])
    _done(worker, done, "no control group for pods")
    kubelet = write(
        worker,
        "kubelet.yaml",
        "kubelet.yaml.j2",
        folder=worker.folder,
        address=worker.address,
        authority=certificates.write(worker, "ca.crt")["ca.crt"],
        socket=worker.folder / SOCKET,
        containers=worker.containers,
        group=worker.group,
        domain_servers=plan.domain_servers,
    )
    proxy = write(
        worker,
        "kube-proxy.yaml",
        "kube-proxy.yaml.j2",
        name=worker.name,
        address=worker.address,
        kubeconfig=certificates.write_kubeconfig("kube-proxy", worker),
        pods=PODS,
    )
    worker.spawn(
        "kubelet",
        plan.command(
            worker,
            "kubelet",
            config=kubelet,
            kubeconfig=certificates.write_kubeconfig(node_user(worker), worker, "kubelet"),
            hostname_override=worker.name,
            node_ip=worker.address,
        ),
    )
    worker.spawn("kube-proxy", plan.command(worker, "kube-proxy", config=proxy))


def _done(member: Member, done: Completed, trouble: str) -> None:
    if done.code != 0 or done.timed_out:
        raise DeploymentError(f"{member.name}: {trouble}: {done.complaint}")
