"""What a provider of machines must offer. Everything that it makes carries the token of one deployment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, NamedTuple

from loadstone.infrastructure.base import Finding, Say
from loadstone.model.instances import Instances


class Size(NamedTuple):
    """The size of one machine: cores, and bytes of memory."""

    cpus: int
    memory: int


@dataclass(frozen=True)
class Made:
    """A machine that is there: ``address`` is in the network of all, ``outside`` where this machine reaches it.

    Without an ``outside`` it is reached over the first that has one.
    """

    name: str
    address: str
    outside: str = ""
    login: str = ""
    port: int = 22
    key: str = ""
    """The private key's file, where the provider made the key."""


class CloudService(ABC):
    """One provider, with the user's own credentials, for the machines of one ``token``.

    ``folder`` is the deployment's own, where a provider that works by files keeps its state. What carries another token
    is never changed.
    """

    usual_login: ClassVar[str]

    def __init__(self, wanted: Instances, token: str, folder: Path) -> None:
        self.wanted = wanted
        self.token = token
        self.folder = folder

    @abstractmethod
    def where(self) -> str:
        """The account and site in which machines are made, without secrets: ``project X at chi-uc``.

        Raises PreflightError where it cannot be reached, or refuses the credentials.
        """

    @abstractmethod
    def check(self, count: int) -> list[Finding]:
        """What stands in the way of so many more machines; changes nothing."""

    def size(self) -> Size | None:
        """The size of each machine, before it is made; None where that is not known."""
        return None

    def price(self) -> tuple[float, str] | None:
        """What a machine costs in an hour, and the currency."""
        if self.wanted.price is None:
            return None
        amount, currency = self.wanted.price.split()
        return float(amount), currency

    leases: ClassVar[bool] = False
    """Whether machines are held for a time that ends by itself."""

    @abstractmethod
    def make(self, names: Sequence[str], public_key: str, until: datetime, say: Say) -> list[Made]:
        """Machines of these names, once they run; those that are there already are not made again.

        Raises PreflightError or DeploymentError where one cannot be had; what was made stays for ``remove``.
        """

    @abstractmethod
    def remove(self) -> None:
        """Remove everything that carries the token, and wait until it is gone.

        May be called again, also where nothing was made. Raises DeploymentError where something is left.
        """
