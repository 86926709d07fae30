"""A host is claimed by one study at a time: a deployment in its journal, in which the cluster's software runs."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import replace

from loadstone import plugins
from loadstone.infrastructure import desk, journal
from loadstone.infrastructure.hosts import packages
from loadstone.infrastructure.machines import Machine, MachineLost, NodeError, connect, in_parallel
from loadstone.infrastructure.software import footprint
from loadstone.infrastructure.software.base import Member, Software
from loadstone.model.base import Model
from loadstone.model.cluster import Reach, Role
from loadstone.model.errors import DeploymentError, LoadstoneError

CLAIM = "claim"
"""What a host's journal calls the study that uses it."""
WHEN_USED = "wait until it ends, or remove what a killed run left: `loadstone down` where it was started"


class Claimed(Model):
    """A host of a study, as the desk's journal has it."""

    name: str
    role: Role
    address: str
    reach: Reach

    @property
    def machine(self) -> Machine:
        """The way to it."""
        return connect(self.name, self.reach)

    @property
    def member(self) -> Member:
        """It as a part of a cluster; what runs in the claim has a room."""
        return Member(self.name, self.role, self.address, self.machine, CLAIM, room=True)


def claim(entry_name: str, implementation: str, hosts: Sequence[Claimed], software: str) -> None:
    """Take hosts, journalled here first. Raises DeploymentError that names the study which uses one."""
    left = journal.load(entry_name)  # of hosts that were lost: they may still have our claim
    token = left.facts["token"] if left is not None else secrets.token_hex(6)
    listed = [host.model_dump(mode="json") for host in hosts]
    ways = [host["reach"] for host in listed]
    lost = [host for host in left.facts["hosts"] if host["reach"] not in ways] if left is not None else []
    facts = {"token": token, "software": software, "hosts": [*listed, *lost]}
    journal.save(
        journal.JournalEntry(
            name=entry_name, layer="infrastructure", implementation=implementation, folder="", facts=facts
        )
    )
    started = time.strftime("%Y-%m-%d %H:%M")
    owner = f"{entry_name}, started {started} by {desk.user()} at {socket.gethostname()}"

    def begin(host: Claimed) -> None:
        try:
            host.machine.begin(CLAIM, token, owner)
        except NodeError as error:
            if not error.owner:
                raise
            raise DeploymentError(f"{host.name}: another study uses this host: {error.owner}", WHEN_USED) from None

    in_parallel(begin, hosts)


def end_left_overs(hosts: Sequence[Claimed]) -> None:
    """End what we deployed on hosts that were lost then, and run again: it would work beside the next trial."""
    found = in_parallel(lambda host: host.machine.deployments(), hosts)
    names = {each.deployment for deployments in found for each in deployments}
    for entry in journal.entries():
        if entry.facts.get("name") in names:
            journal.remove_all([entry.name])


def give_back(entry: journal.JournalEntry) -> list[str]:
    """End the claims that are ours, with all that runs in them; returns why hosts could not be given back."""
    kind: Software = plugins.find("software", entry.facts["software"])()

    def end(host: Claimed) -> str:
        machine = host.machine
        try:
            found = machine.deployment(CLAIM)
            if found is not None and found.digest == entry.facts["token"]:
                packages.let_services_start(machine)
                # What daemons left in the host's network is removed when none is there to make it again.
                daemons = [process.name for process in found.processes]
                machine.stop(CLAIM, daemons, "KILL", 0)
                kind.stop([replace(host.member, room=False)])
                footprint.sweep(machine, CLAIM)
                machine.end(CLAIM)
        except MachineLost as error:
            return error.first_line
        except LoadstoneError as error:
            return f"{host.name}: it cannot be given back: {error}"
        return ""

    return [why for why in in_parallel(end, map(Claimed.model_validate, entry.facts["hosts"])) if why]
