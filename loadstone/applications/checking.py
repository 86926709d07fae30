"""Checks after a trial that the stores hold what the answers promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loadstone.applications.seeding import Counts
from loadstone.model.application import Application, Growth


@dataclass(frozen=True)
class CheckRow:
    """One collection: by how much it grew and what completed and sent writes allow."""

    store: str
    collection: str
    operation: str
    grew: int
    completed: int
    sent: int | None
    """None where the driver does not tell."""
    ok: bool
    message: str


def check(application: Application, before: Counts, after: Counts, summary: dict[str, Any]) -> list[CheckRow]:
    """Each collection that writes go to must have grown by at least the completed and at most the sent ones.

    A write that was answered is there; one that was sent and not answered may be. All requests of the run count,
    those of the warm-up and of sessions' steps too. An operation that was not part of the load must have added nothing.
    Nothing is checked where a driver does not tell what its script sent.
    """
    operations = summary["operations"]
    if summary.get("driver") is not None and not operations:
        return []
    done: dict[str, list[dict[str, Any]]] = {}
    for operation in operations:
        # A step of a session is called `operation.step`; what a script sends, `POST /path`.
        name = operation["name"]
        done.setdefault(name if " " in name else name.rpartition(".")[2], []).append(operation["all"])
    return [
        _check(
            rule,
            before,
            after,
            [counts for name in _names(application, rule.operation) for counts in done.get(name, [])],
        )
        for rule in application.checks
    ]


def _names(application: Application, operation: str) -> set[str]:
    """What the requests of an operation may be called in a summary: by name, or by method and path."""
    requests = [
        one for load in application.workloads.values() for name, one in load.operations.items() if name == operation
    ]
    return {operation, *(f"{one.method} {one.path.partition('?')[0]}" for one in requests)}


def _check(rule: Growth, before: Counts, after: Counts, done: list[dict[str, Any]]) -> CheckRow:
    key = (rule.store, rule.collection)
    name = f"{rule.store}/{rule.collection}"
    completed = sum(counts["completed"] for counts in done)
    sent = None if any(counts["sent"] is None for counts in done) else sum(counts["sent"] for counts in done)
    if key not in before or key not in after:
        return _row(rule, 0, completed, sent, False, f"{name} cannot be counted: there is no such collection")
    grew = after[key] - before[key]
    full = rule.full_at is not None and after[key] > rule.full_at
    at_least = 0 if full else completed
    ok = at_least <= grew and (sent is None or grew <= sent)
    told = f"{sent:,} sent" if sent is not None else "how many were sent is not told"
    message = f"{name} grew by {grew:,}; {rule.operation}: {completed:,} completed, {told}"
    if full:
        message += f" (with more than {rule.full_at:,} documents it may be full, so only the upper bound counts)"
    if grew < at_least:
        message += f": {at_least - grew:,} answered writes are not there"
    elif sent is not None and grew > sent:
        message += f": {grew - sent:,} more than were sent"
    return _row(rule, grew, completed, sent, ok, message)


def _row(rule: Growth, grew: int, completed: int, sent: int | None, ok: bool, message: str) -> CheckRow:
    return CheckRow(rule.store, rule.collection, rule.operation, grew, completed, sent, ok, message)
