"""What can go wrong between the desk and a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadstone.model.errors import DeploymentError

if TYPE_CHECKING:
    from loadstone.model.records.node.frames import Fault


class NodeError(DeploymentError):
    """A machine's node answered with an error."""

    def __init__(self, machine: str, fault: Fault) -> None:
        super().__init__(f"{machine}: {fault.message}", fault.remedy)
        self.kind = fault.kind
        self.reason = fault.message
        self.owner = fault.owner


class MachineLost(DeploymentError):
    """A machine cannot be reached, or its node has ended or does not answer."""
