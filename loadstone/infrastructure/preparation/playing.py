"""Runs a playbook on all hosts of an inventory side by side, and reports what it changed on each."""

from __future__ import annotations

import difflib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner

from loadstone.infrastructure import temporary
from loadstone.infrastructure.machines import ssh
from loadstone.infrastructure.preparation import connections, troubles
from loadstone.infrastructure.preparation.hosts import ansible_inventory
from loadstone.infrastructure.preparation.troubles import Trouble
from loadstone.model.errors import Interrupted, PreflightError
from loadstone.model.inventory import Inventory

PLAYBOOKS = Path(__file__).parent / "playbooks"
Progress = Callable[[str, str, bool], None]
"""Receives a host, a task, and whether it has changed something there; else it begins."""


@dataclass(frozen=True)
class TaskChange:
    """What a task changes on a host; in check mode, what it would change."""

    task: str
    text: str
    diff: tuple[str, ...] = ()


@dataclass
class HostOutcome:
    """What a playbook did on a host."""

    changes: list[TaskChange] = field(default_factory=list)
    clock: Mapping[str, Any] = field(default_factory=dict)
    """What keeps its clock: ``source`` and ``offset_us``, or ``trouble``."""
    trouble: Trouble | None = None


def play(
    playbook: str,
    inventory: Inventory,
    settings: Mapping[str, Any],
    check: bool,
    progress: Progress,
    password: str = "",
) -> dict[str, HostOutcome]:
    """Run ``prepare`` or ``undo``; with ``check``, change nothing and report what would be.

    ``settings``: variables of the roles; ``password``: what sudo demands of the login, if any. Returns an outcome for
    each host. Raises Interrupted where a signal ended it, and PreflightError where Ansible itself fails.
    """
    outcomes = {name: HostOutcome() for name in inventory.hosts}

    def handle(event: dict[str, Any]) -> bool:
        data = event.get("event_data", {})
        if (host := data.get("host")) in outcomes:
            changes = len(outcomes[host].changes)
            _take(outcomes[host], event["event"], data)
            if "task" in data:
                progress(host, data["task"], len(outcomes[host].changes) > changes)
        return False  # no file of it is kept

    with (
        temporary.directory("ansible") as folder,
        _interrupts() as interrupted,
        connections.shared(inventory) as sockets,
    ):
        runner = ansible_runner.run(
            private_data_dir=folder,
            playbook=str(PLAYBOOKS / f"{playbook}.yaml"),
            inventory=ansible_inventory(inventory),
            extravars=dict(settings),
            envvars=_environment(folder, sockets),
            cmdline=" ".join(["--diff", *(["--check"] if check else []), *(["--ask-become-pass"] if password else [])]),
            passwords={r"^BECOME password.*:\s*$": password},
            event_handler=handle,
            cancel_callback=interrupted,
            suppress_env_files=True,
            quiet=True,
        )
        if runner.status == "canceled":
            raise Interrupted("interrupted while hosts were prepared")
        if runner.rc and not any(outcome.trouble for outcome in outcomes.values()):
            last = "\n  ".join(runner.stdout.read().strip().splitlines()[-5:])
            raise PreflightError(f"ansible-playbook failed: {last}")
    return outcomes


def _take(outcome: HostOutcome, kind: str, data: Mapping[str, Any]) -> None:
    """Add an event to the outcome of its host."""
    result = data.get("res", {})
    if kind == "runner_on_unreachable" or (kind == "runner_on_failed" and not data.get("ignore_errors")):
        outcome.trouble = troubles.explain(data["host"], data.get("remote_addr", data["host"]), result)
    elif kind == "runner_on_ok":
        outcome.clock = result.get("clock", outcome.clock)
        if result.get("changed"):
            outcome.changes.append(
                TaskChange(data["task"], str(result.get("msg", "")), tuple(_diff(result.get("diff"))))
            )


def _diff(found: Any) -> Iterator[str]:
    """The changed lines of files."""
    for diff in found if isinstance(found, list) else [found or {}]:
        before, after = diff.get("before"), diff.get("after")
        if isinstance(before, str) and isinstance(after, str):  # else it is a file's mode or owner
            lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
            yield from (line for line in lines if not line.startswith("@@"))


def _environment(folder: str, sockets: str) -> dict[str, str]:
    """Our settings instead of a user's own, folders for this run alone, and the programs of this environment."""
    return {
        "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
        "ANSIBLE_HOME": folder,
        "ANSIBLE_LOCAL_TEMP": folder,
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(ssh.sockets()),
        "ANSIBLE_SSH_CONTROL_PATH": f"%(directory)s/{sockets}-%%C",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Whether SIGINT or SIGTERM has come: the playbook is ended then, not this process."""
    interrupted = threading.Event()
    before = {each: signal.signal(each, lambda *_: interrupted.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
