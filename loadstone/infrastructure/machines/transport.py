"""What differs between machines: how a command is run there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path


class Transport(ABC):
    """A way to one machine: plain data, with nothing opened yet."""

    @abstractmethod
    def command(self, argv: Sequence[str]) -> list[str]:
        """The local command line that runs ``argv`` on the machine with standard input and outputs attached."""

    @abstractmethod
    def deliver(self, program: Path) -> str:
        """The path on the machine of a program of the desk's, copied there if it is not. Raises DeploymentError."""

    def socket(self, path: str) -> str:
        """The path here by which a Unix socket of the machine's is reached."""
        return path

    def node_options(self) -> list[str]:
        """Options of ``stone node`` on this machine."""
        return []

    def settle(self) -> None:  # noqa: B027 - where nothing can be known of other nodes, nothing is waited for
        """Wait until the nodes of desks that were killed have ended. Raises DeploymentError for one that stays."""

    def explain(self, complaint: str) -> tuple[str, str]:
        """What a command that failed wrote to its standard error, as a sentence and a remedy."""
        return (complaint.splitlines()[-1] if complaint else "its node ended without a word"), ""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Close what commands share. May be called twice."""
