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
    sent: int
    ok: bool
    message: str


def check(application: Application, before: Counts, after: Counts, summary: dict[str, Any]) -> list[CheckRow]:
    """Each collection that writes go to must have grown by at least the completed and at most the sent ones.

    A write that was answered is there; one that was sent and not answered may be. All requests of the run count,
    those of the warm-up and of sessions' steps too. An operation that was not part of the load must have added nothing.
    """
    return [_check(rule, before, after, summary["operations"]) for rule in application.checks]


def _check(rule: Growth, before: Counts, after: Counts, operations: list[dict[str, Any]]) -> CheckRow:
    key = (rule.store, rule.collection)
    name = f"{rule.store}/{rule.collection}"
    # A step of a session is called `operation.step`.
    done = [one["all"] for one in operations if one["name"].rpartition(".")[2] == rule.operation]
    completed, sent = (sum(counts[what] for counts in done) for what in ("completed", "sent"))
    if key not in before or key not in after:
        return _row(rule, 0, completed, sent, False, f"{name} cannot be counted: there is no such collection")
    grew = after[key] - before[key]
    full = rule.full_at is not None and after[key] > rule.full_at
    at_least = 0 if full else completed
    ok = at_least <= grew <= sent
    message = f"{name} grew by {grew:,}; {rule.operation}: {completed:,} completed, {sent:,} sent"
    if full:
        message += f" (with more than {rule.full_at:,} documents it may be full, so only the upper bound counts)"
    if grew < at_least:
        message += f": {at_least - grew:,} answered writes are not there"
    elif grew > sent:
        message += f": {grew - sent:,} more than were sent"
    return _row(rule, grew, completed, sent, ok, message)


def _row(rule: Growth, grew: int, completed: int, sent: int, ok: bool, message: str) -> CheckRow:
    return CheckRow(rule.store, rule.collection, rule.operation, grew, completed, sent, ok, message)
