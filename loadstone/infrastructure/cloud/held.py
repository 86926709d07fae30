"""Machines that are held, as the journal has them: written before they are requested, dropped when they are gone."""

from __future__ import annotations

import secrets
import socket
from datetime import UTC, datetime

from loadstone.infrastructure import desk, journal
from loadstone.infrastructure.base import Terms
from loadstone.model.base import Model, plural
from loadstone.model.instances import Instances


class HeldMachines(Model):
    """``machines`` are names that were requested; with ``ready`` all of them were there."""

    token: str
    where: str
    owner: str
    kind: str
    instances: Instances
    machines: list[str] = []
    since: datetime
    until: datetime | None = None
    """When the lease ends by itself."""
    hourly: float | None = None
    currency: str = ""
    ready: bool = False
    prepared: list[str] = []
    """The software for which all of them are prepared."""
    entry_ports: list[int] = []
    """The ports of applications' entries that preparation opened on them."""
    kept: bool = False

    def cost(self, now: datetime) -> str:
        """What the machines have cost until now; empty where the price is unknown."""
        hours = (now - self.since).total_seconds() / 3600
        return Terms(len(self.machines), self.kind, None, self.hourly, self.currency).cost(hours * len(self.machines))

    def sentence(self, now: datetime) -> str:
        """``3 machines (m1.large at chi-tacc): kept, until 2026-03-01 18:00 UTC, 4.50 SU so far``."""
        state = "kept" if self.kept else "in use" if self.ready else "requested, not yet confirmed"
        until = f"until {self.until:%Y-%m-%d %H:%M} UTC" if self.until is not None else "until they are given back"
        if self.until is not None and self.until < now:
            until = f"the lease ended {self.until:%Y-%m-%d %H:%M} UTC"
        cost = f", {self.cost(now)} so far" if self.hourly is not None else ""
        return f"{plural(len(self.machines), 'machine')} ({self.kind}, {self.where}): {state}, {until}{cost}"


def begin(terms: Terms, where: str, instances: Instances, until: datetime | None) -> HeldMachines:
    """Nothing requested yet, with a token of its own."""
    return HeldMachines(
        token=f"loadstone-{secrets.token_hex(6)}",
        where=where,
        owner=f"{desk.user()}@{socket.gethostname()}",
        kind=terms.kind,
        instances=instances,
        since=datetime.now(UTC),
        until=until,
        hourly=terms.hourly,
        currency=terms.currency,
    )


def load(name: str) -> HeldMachines | None:
    """What the journal has under a name."""
    entry = journal.load(name)
    return None if entry is None else of(entry)


def of(entry: journal.JournalEntry) -> HeldMachines:
    """What an entry holds."""
    with journal.understood(entry):
        return HeldMachines.model_validate(entry.facts)


def save(name: str, implementation: str, held: HeldMachines) -> HeldMachines:
    """Write it to the journal."""
    journal.save(
        journal.JournalEntry(
            name=name,
            layer="infrastructure",
            implementation=implementation,
            folder=str(journal.records_folder(name)),
            facts=held.model_dump(mode="json"),
        )
    )
    return held


def listed() -> dict[str, HeldMachines]:
    """All that this user holds from this machine, by the journal's name."""
    return {entry.name: of(entry) for entry in journal.entries() if "machines" in entry.facts}
