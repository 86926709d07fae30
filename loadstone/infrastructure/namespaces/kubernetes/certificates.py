"""Who may speak to whom: one authority for the cluster, a certificate and a kubeconfig for each that takes part."""

from __future__ import annotations

import json
import os
from pathlib import Path

from loadstone.infrastructure.namespaces.commands import run
from loadstone.infrastructure.namespaces.kubernetes.plan import SERVICES, Plan

_DAYS = "3650"
_SETTINGS = "[req]\ndistinguished_name = name\n[name]\n"
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Certificates:
    """The files below ``<cluster>/pki``; their names end in ``.crt`` and ``.key``."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.folder = plan.folder / "pki"

    def file(self, name: str) -> str:
        """The path of one of them."""
        return str(self.folder / name)

    def make(self) -> None:
        """All of them, and the kubeconfigs of everyone."""
        self.folder.mkdir(mode=0o700)
        (self.folder / "openssl.cnf").write_text(_SETTINGS)
        self._authority()
        self._user("accounts", "/CN=service-accounts")  # signs the tokens of pods; the certificate is its public key
        addresses = [host.address for host in self._plan.managers]
        names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
        places = [f"IP:{address}" for address in ["127.0.0.1", str(SERVICES[1]), *addresses]]
        self._issue("api-server", "/CN=kube-apiserver", "serverAuth", ",".join(f"DNS:{n}" for n in names), *places)
        self._issue("etcd", "/CN=etcd", "serverAuth,clientAuth", *(f"IP:{address}" for address in addresses))
        self._issue("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client", "clientAuth")
        self._users()

    def _users(self) -> None:
        """Everyone who speaks to an API server, under the names that Kubernetes' own roles are bound to."""
        self._user("admin", "/O=system:masters/CN=loadstone")
        for name in ("kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns"):
            self._user(name, f"/CN=system:{name}")
        for host in self._plan.workers:
            self._user(host.name, f"/O=system:nodes/CN=system:node:{host.name}")
            self._kubeconfig("kube-proxy", self._plan.kubeconfig("kube-proxy", host), self._plan.server(host))
            self._kubeconfig(host.name, self._plan.kubeconfig("kubelet", host), self._plan.server(host))
        for host in self._plan.managers:
            for name in ("admin", "kube-controller-manager", "kube-scheduler", "coredns"):
                self._kubeconfig(name, self._plan.kubeconfig(name, host), self._plan.server(host))

    def _user(self, name: str, subject: str) -> None:
        self._issue(name, subject, "clientAuth")

    def _authority(self) -> None:
        self._certificate("ca", "/CN=loadstone", "basicConstraints=critical,CA:TRUE",
                          "keyUsage=critical,keyCertSign,cRLSign", signed=False)  # fmt: skip

    def _issue(self, name: str, subject: str, usage: str, *alternatives: str) -> None:
        extensions = [
            "basicConstraints=critical,CA:FALSE",
            "keyUsage=critical,digitalSignature",
            f"extendedKeyUsage={usage}",
            "authorityKeyIdentifier=keyid",
        ]
        if alternatives:
            extensions.append(f"subjectAltName={','.join(alternatives)}")
        self._certificate(name, subject, *extensions)

    def _certificate(self, name: str, subject: str, *extensions: str, signed: bool = True) -> None:
        by = ["-CA", self.file("ca.crt"), "-CAkey", self.file("ca.key")] if signed else []
        added = [word for extension in ("subjectKeyIdentifier=hash", *extensions) for word in ("-addext", extension)]
        run("openssl", "req", "-x509", "-config", self.file("openssl.cnf"), "-days", _DAYS, "-subj", subject, *_KEY,
            "-keyout", self.file(f"{name}.key"), "-out", self.file(f"{name}.crt"), *by, *added)  # fmt: skip

    def _kubeconfig(self, user: str, file: Path, server: str) -> None:
        """YAML that is JSON; the keys stay where they are, so nothing has to be unpacked to use it."""
        data = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "loadstone",
            "contexts": [{"name": "loadstone", "context": {"cluster": "loadstone", "user": user}}],
            "clusters": [
                {"name": "loadstone", "cluster": {"server": server, "certificate-authority": self.file("ca.crt")}}
            ],
            "users": [
                {
                    "name": user,
                    "user": {
                        "client-certificate": self.file(f"{user}.crt"),
                        "client-key": self.file(f"{user}.key"),
                    },
                }
            ],
        }
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            json.dump(data, out, indent=1)
