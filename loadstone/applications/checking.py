"""Checks after a trial that the stores hold what the answers promised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loadstone.applications.seeding import Counts
from loadstone.model.application import Application, Growth
from loadstone.model.records.audit import ContentCheck, GrowthCheck
from loadstone.model.records.summary import OperationSummary, Totals, TrialSummary
from loadstone.model.workload import Request, Workload


def among_stores(rows: Iterable[Mapping[str, Any]]) -> list[ContentCheck]:
    """The stores' contents compared with each other, as ``stone seed --check`` found them."""
    return [_content(row) for row in rows]


def _content(row: Mapping[str, Any]) -> ContentCheck:
    examples = tuple(map(str, row.get("examples") or ()))
    message = f"{row['what']}: {_number(row['have'])}, wanted {_number(row['want'])}"
    if examples and not row["ok"]:
        message += f"; for example {', '.join(examples)}"
    return ContentCheck(
        what=row["what"], want=row["want"], have=row["have"], examples=examples, ok=row["ok"], message=message
    )


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def check(application: Application, before: Counts, after: Counts, summary: TrialSummary) -> list[GrowthCheck]:
    """Each collection that writes go to must have grown by at least the completed and at most the sent ones.

    A write that was answered is there; one that was sent and not answered may be. All requests of the run count,
    those of the warm-up and of sessions' steps too. An operation that was not part of the load must have added nothing.
    Nothing is checked where a driver does not report what its script sent, or an operation's requests of the whole run.
    """
    if summary.driver is not None and not summary.operations:
        return []
    counted = [(rule, [part.all for part in _parts(application, rule, summary)]) for rule in application.checks]
    return [
        _check(rule, before, after, [totals for totals in done if totals is not None])
        for rule, done in counted
        if None not in done
    ]


def lost(application: Application, before: Counts, after: Counts | None, summary: TrialSummary) -> list[str]:
    """What stores no longer hold of what they held and were sent, as sentences; ``after`` is None where they cannot be
    counted any more.

    For a trial in which something stopped working: of one that was not disturbed, ``check`` says more.
    """
    expected = dict(before)
    for rule in application.checks:
        key = (rule.store, rule.collection)
        if key in expected and rule.full_at is None:
            expected[key] += sum(
                part.all.completed for part in _parts(application, rule, summary) if part.all is not None
            )
    if after is None:
        held = ", ".join(f"{count:,} in {'/'.join(key)}" for key, count in expected.items() if count)
        return [f"documents are lost or out of reach: {held}"] if held else []
    return [
        f"{'/'.join(key)}: {count - after.get(key, 0):,} of {count:,} documents are lost"
        for key, count in expected.items()
        if after.get(key, 0) < count
    ]


def _parts(application: Application, rule: Growth, summary: TrialSummary) -> list[OperationSummary]:
    """What a summary has of a rule's operations."""
    names = _names(application, rule)
    return [part for part in summary.operations if _called(part.name) & names]


def _called(name: str) -> set[str]:
    """What a rule may call the requests of this name: a step of a session is ``operation.step``, and a ``step``.

    What a script sends is called ``POST /path``.
    """
    return {name} if " " in name else {name, name.rpartition(".")[2]}


def unfinished(workload: Workload | Path, summary: TrialSummary) -> int | None:
    """Writes that were sent and did not complete: the stores may hold some of them. None if not reported."""
    methods = {} if isinstance(workload, Path) else _methods(workload)
    left = 0
    for part in summary.operations:
        # What a script sends is called by its method.
        method = methods.get(part.name) or part.name.partition(" ")[0]
        if method in ("GET", "HEAD"):
            continue
        if part.all is None or part.all.sent is None:
            return None
        left += part.all.sent - part.all.completed
    return left if summary.operations else None


def _methods(workload: Workload) -> dict[str, str]:
    """The method of each request by what it is called in results."""
    methods: dict[str, str] = {}
    for name, operation in workload.operations.items():
        requests: Sequence[Request] = operation.steps or [operation]
        methods |= zip(operation.request_names(name), (request.method for request in requests), strict=True)
    return methods


def _names(application: Application, rule: Growth) -> set[str]:
    """What the requests of a rule's operations may be called in a summary: by name, or by method and path."""
    requests = [
        operation
        for load in application.workloads.values()
        for name, operation in load.operations.items()
        if name in rule.writes and operation.steps is None
    ]
    return {*rule.writes, *(f"{request.method} {request.path.partition('?')[0]}" for request in requests)}


def _check(rule: Growth, before: Counts, after: Counts, done: list[Totals]) -> GrowthCheck:
    key = (rule.store, rule.collection)
    name = f"{rule.store}/{rule.collection}"
    completed = sum(counts.completed for counts in done)
    sent = None if any(counts.sent is None for counts in done) else sum(counts.sent or 0 for counts in done)
    if key not in before or key not in after:
        return _row(rule, None, completed, sent, False, f"{name} cannot be counted: there is no such collection")
    grew = after[key] - before[key]
    full = rule.full_at is not None and after[key] > rule.full_at
    at_least = 0 if full else completed
    ok = at_least <= grew and (sent is None or grew <= sent)
    sent_text = f"{sent:,} sent" if sent is not None else "the number sent is not reported"
    message = f"{name} grew by {grew:,}; {_operations(rule)}: {completed:,} completed, {sent_text}"
    if full:
        message += f" (with more than {rule.full_at:,} documents it may be full, so only the upper bound counts)"
    if grew < at_least:
        message += f": {at_least - grew:,} answered writes are not there"
    elif sent is not None and grew > sent:
        message += f": {grew - sent:,} more than were sent"
    return _row(rule, grew, completed, sent, ok, message)


def _operations(rule: Growth) -> str:
    return " and ".join(rule.writes)


def _row(rule: Growth, grew: int | None, completed: int, sent: int | None, ok: bool, message: str) -> GrowthCheck:
    return GrowthCheck(
        store=rule.store,
        collection=rule.collection,
        operation=_operations(rule),
        grew=grew,
        completed=completed,
        sent=sent,
        ok=ok,
        message=message,
    )
