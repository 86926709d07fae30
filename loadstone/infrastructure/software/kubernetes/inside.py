"""A node of a Kubernetes cluster that was there before, in the pod that waits on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.infrastructure.machines.exec import CONTAINER, Exec, output
from loadstone.infrastructure.machines.faults import MachineLost


@dataclass(frozen=True)
class ByKubernetes(Exec):
    """``kubeconfig`` may be several files with ``:`` between them; ``namespace`` is the deployment's."""

    client = "kubectl"
    node: str
    kubeconfig: str
    context: str = ""
    namespace: str = ""

    def command(self, argv: Sequence[str]) -> list[str]:
        fields = f"spec.nodeName={self.node},status.phase=Running"
        wanted = ["get", "pods", "--selector", f"loadstone.agent={self.namespace}", "--field-selector", fields]
        pods = output([*self._kubectl(), *wanted, "--output", "name"]).split()
        if not pods:
            raise MachineLost(f"{self.node}: no pod of {CONTAINER} runs there")
        return [*self._kubectl(), "exec", "--stdin", pods[0], "--container", CONTAINER, "--", *argv]

    def _kubectl(self) -> list[str]:
        context = ["--context", self.context] if self.context else []
        return ["env", f"KUBECONFIG={self.kubeconfig}", "kubectl", *context, "--namespace", self.namespace]
