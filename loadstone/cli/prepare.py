"""loadstone prepare: what studies need on hosts, installed and set by Ansible; and taken back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.status import Status

from loadstone import plugins
from loadstone.cli.app import err, out, warn
from loadstone.experiments.preparing import settings_for
from loadstone.infrastructure import inventories
from loadstone.infrastructure.preparation.playing import HostOutcome, play
from loadstone.model import units
from loadstone.model.cluster import Cluster
from loadstone.model.errors import InputError, Interrupted, PreflightError
from loadstone.model.inventory import Inventory

EPILOG = (
    "Examples: [bold]loadstone prepare hosts.yaml --for swarm --check[/] shows what would change, "
    "[bold]loadstone prepare hosts.yaml --for study.yaml --clock-bound 80us[/] changes it, "
    "[bold]loadstone prepare hosts.yaml --undo[/] takes it back."
)
_MOST_LINES = 20
"""Most lines that are shown of the changes of one file."""


def command(
    hosts: Annotated[Path, typer.Argument(metavar="HOSTS", help="The inventory of the hosts.")] = Path("hosts.yaml"),
    software: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="NAME|STUDY",
            help=f"What will run there: any of {', '.join(plugins.names('software'))}, or the file of a study, whose "
            "ports are opened, too; repeatable. By default process.",
        ),
    ] = None,
    clock_bound: Annotated[
        str, typer.Option(metavar="TIME", help="How far a host's clock may be from the first host's.")
    ] = "1ms",
    check: Annotated[bool, typer.Option("--check", help="Show what would change, and change nothing.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what it changed before, and nothing else.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Change the hosts without a question.")] = False,
    ask_password: Annotated[
        bool, typer.Option("--ask-password", help="Read the password that sudo demands of the login.")
    ] = False,
) -> None:
    """Install and set what studies need on hosts: packages, time synchronisation, swap, firewall, the login's rights.

    The changes are shown first, for each host. Exit 3 if a host could not be prepared.
    """
    bound_us = _seconds(clock_bound) * 1e6
    inventory = inventories.read(Cluster(infrastructure="hosts", inventory=str(hosts)))
    settings = {**settings_for(software or ["process"], inventory), "clock_bound_us": bound_us}
    run = _Run(inventory, undo, settings, ask_password)
    planned = run.play(check=True)
    changing = [name for name, outcome in planned.items() if outcome.changes]
    _show(planned)
    _fail(planned, "nothing was changed")
    if check or not (changing or (_unsynchronised(planned, bound_us) and not undo)):
        _show_clocks(planned, bound_us)
        out.print(f"{len(changing)} of {len(planned)} hosts would change" if changing else "nothing to change")
        return
    if changing and not yes and not _confirmed(f"Change {', '.join(changing)}?"):
        raise Interrupted("nothing was changed")
    done = run.play(check=False)
    _show_clocks(done, bound_us)
    _fail(done, f"{_count(done)} of {len(done)} hosts were changed; run it again when that is mended")
    out.print(f"changed {_count(done)} of {len(done)} hosts")


class _Run:
    """A playbook on the hosts of an inventory, with its progress on standard error."""

    def __init__(self, inventory: Inventory, undo: bool, settings: Mapping[str, Any], ask_password: bool) -> None:
        self._inventory = inventory
        self._playbook = "undo" if undo else "prepare"
        self._settings = settings
        self._password = typer.prompt("sudo's password", hide_input=True, err=True) if ask_password else ""

    def play(self, check: bool) -> dict[str, HostOutcome]:
        """What it changes on each host, or would change."""
        verb = "looking at" if check else "changing"
        status = Status(verb, console=err) if err.is_terminal else None
        if status is None:
            err.print(f"{verb} {', '.join(self._inventory.hosts)}", markup=False)

        def progress(host: str, task: str, changed: bool) -> None:
            if status is not None:
                status.update(f"{verb} {host}: {task}")
            if changed and not check:
                err.print(f"{host}: {task}: done", markup=False)

        with status or contextlib.nullcontext():
            try:
                return play(self._playbook, self._inventory, self._settings, check, progress, self._password)
            except Interrupted as error:
                again = "run it again: what is half done is finished, or taken back by --undo"
                raise Interrupted(str(error), again) from None


def _show(outcomes: Mapping[str, HostOutcome]) -> None:
    """The changes of each host; hosts without any are left out."""
    for name, outcome in outcomes.items():
        for change in outcome.changes:
            out.print(f"{name}: {change.task}{': ' if change.text else ''}{change.text}", markup=False)
            for line in change.diff[:_MOST_LINES]:
                out.print(f"    {line}", markup=False)


def _show_clocks(outcomes: Mapping[str, HostOutcome], bound_us: float) -> None:
    """How far each clock is from the one that it follows."""
    for name, outcome in outcomes.items():
        if "offset_us" in outcome.clock:
            offset = outcome.clock["offset_us"]
            text = f"{name}: clock: {offset:g} us from {outcome.clock['source']}"
            out.print(text, markup=False) if offset <= bound_us else warn(f"{text}; the bound is {bound_us:g} us")


def _unsynchronised(outcomes: Mapping[str, HostOutcome], bound_us: float) -> bool:
    """Whether a clock is not within its bound."""
    return any(outcome.clock.get("offset_us", bound_us + 1) > bound_us for outcome in outcomes.values())


def _fail(outcomes: Mapping[str, HostOutcome], then: str) -> None:
    """Raise PreflightError where a host is in trouble, after a message for each."""
    troubles = [outcome.trouble for outcome in outcomes.values() if outcome.trouble]
    for trouble in troubles:
        err.print("[bold red]error:[/] ", end="")
        err.print(trouble.message, markup=False)
        if trouble.remedy:
            err.print(f"  {trouble.remedy}", markup=False)
    if troubles:
        raise PreflightError(f"{len(troubles)} of {len(outcomes)} hosts failed; {then}")


def _count(outcomes: Mapping[str, HostOutcome]) -> int:
    return sum(bool(outcome.changes) for outcome in outcomes.values())


def _confirmed(question: str) -> bool:
    """The user's answer; raises InputError where there is no terminal to ask at."""
    if not sys.stdin.isatty():
        raise InputError("nothing was changed: there is no terminal for the question; --yes changes hosts without it")
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        raise Interrupted("interrupted; nothing was changed") from None


def _seconds(written: str) -> float:
    try:
        return units.seconds(written)
    except ValueError as error:
        raise InputError(f"--clock-bound: {error}") from None
