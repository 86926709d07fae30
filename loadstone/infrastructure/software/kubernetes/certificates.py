"""Certificates: one authority for the cluster, a certificate and a kubeconfig for each program.

All of it is made at the desk. The authority's key is never written to a member, and is forgotten with this object.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from loadstone.infrastructure import subprocesses, temporary
from loadstone.infrastructure.software.base import Member
from loadstone.infrastructure.software.kubernetes.plan import SERVICES, ClusterPlan
from loadstone.model.errors import DeploymentError

PRIVATE = 0o600
"""Mode of a file that holds a private key."""
_DAYS = "3650"
_SETTINGS = "[req]\ndistinguished_name = name\n[name]\n"
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


class Certificates:
    """Certificates and keys of one cluster, in PEM, by names that end in ``.crt`` and ``.key``.

    Raises DeploymentError where ``openssl`` fails.
    """

    def __init__(self, plan: ClusterPlan) -> None:
        self._plan = plan
        with temporary.directory("pki") as folder:
            _issue_all(Path(folder), plan)
            self._pem = {file.name: file.read_text() for file in Path(folder).iterdir()}

    def text(self, name: str) -> str:
        """One of them."""
        return self._pem[name]

    def write(self, member: Member, *names: str) -> dict[str, str]:
        """Write some of them below a member's folder; returns their paths there by name."""
        return {
            name: member.write(f"pki/{name}", self.text(name), PRIVATE if name.endswith(".key") else 0o644)
            for name in names
        }

    def kubeconfig(self, user: str, member: Member) -> str:
        """The file by which a user speaks to the API server of a member: YAML that is JSON, with all keys in it."""
        cluster = {"server": self._plan.server(member), "certificate-authority-data": self._data("ca.crt")}
        keys = {
            "client-certificate-data": self._data(f"{user}.crt"),
            "client-key-data": self._data(f"{user}.key"),
        }
        data = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "loadstone",
            "contexts": [{"name": "loadstone", "context": {"cluster": "loadstone", "user": user}}],
            "clusters": [{"name": "loadstone", "cluster": cluster}],
            "users": [{"name": user, "user": keys}],
        }
        return json.dumps(data, indent=1)

    def write_kubeconfig(self, user: str, member: Member, program: str = "") -> str:
        """Write the kubeconfig of a program that runs as ``user`` on a member; returns its path there."""
        return member.write(f"{program or user}.kubeconfig", self.kubeconfig(user, member), PRIVATE)

    def _data(self, name: str) -> str:
        return base64.b64encode(self.text(name).encode()).decode()


def node_user(worker: Member) -> str:
    """The user that the kubelet of a worker is."""
    return f"node-{worker.name}"


def _issue_all(folder: Path, plan: ClusterPlan) -> None:
    """Every client of an API server has the name that Kubernetes' own roles are bound to."""
    (folder / "openssl.cnf").write_text(_SETTINGS)
    _certificate(folder, "ca", "/CN=loadstone", "basicConstraints=critical,CA:TRUE",
                 "keyUsage=critical,keyCertSign,cRLSign", signed=False)  # fmt: skip
    _user(folder, "accounts", "/CN=service-accounts")  # signs the tokens of pods; the certificate is its public key
    addresses = [member.address for member in plan.managers]
    places = [f"IP:{address}" for address in ["127.0.0.1", str(SERVICES[1]), *addresses]]
    _issue(folder, "api-server", "/CN=kube-apiserver", "serverAuth", *(f"DNS:{name}" for name in _NAMES), *places)
    _issue(folder, "etcd", "/CN=etcd", "serverAuth,clientAuth", *(f"IP:{address}" for address in addresses))
    _issue(folder, "kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client", "clientAuth")
    _user(folder, "admin", "/O=system:masters/CN=loadstone")
    for name in ("kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns"):
        _user(folder, name, f"/CN=system:{name}")
    for member in plan.workers:
        _user(folder, node_user(member), f"/O=system:nodes/CN=system:node:{member.name}")


def _user(folder: Path, name: str, subject: str) -> None:
    _issue(folder, name, subject, "clientAuth")


def _issue(folder: Path, name: str, subject: str, usage: str, *alternatives: str) -> None:
    extensions = [
        "basicConstraints=critical,CA:FALSE",
        "keyUsage=critical,digitalSignature",
        f"extendedKeyUsage={usage}",
        "authorityKeyIdentifier=keyid",
    ]
    if alternatives:
        extensions.append(f"subjectAltName={','.join(alternatives)}")
    _certificate(folder, name, subject, *extensions)


def _certificate(folder: Path, name: str, subject: str, *extensions: str, signed: bool = True) -> None:
    by = ["-CA", "ca.crt", "-CAkey", "ca.key"] if signed else []
    added = [word for extension in ("subjectKeyIdentifier=hash", *extensions) for word in ("-addext", extension)]
    command = ["openssl", "req", "-x509", "-config", "openssl.cnf", "-days", _DAYS, "-subj", subject, *_KEY,
               "-keyout", f"{name}.key", "-out", f"{name}.crt", *by, *added]  # fmt: skip
    done = subprocesses.run(command, cwd=folder)
    if done.returncode != 0:
        raise DeploymentError(f"openssl cannot issue the certificate of {name}: {done.stderr.strip()}")
