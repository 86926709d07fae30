from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadstone.applications import catalogue
from loadstone.applications.checking import among_stores, check, lost, unfinished
from loadstone.model.application import Application
from loadstone.model.document import Document
from loadstone.model.records.audit import GrowthCheck
from tests.support.summaries import check_of

KEY = ("documents-reservation", "reservation")


def after(grew: int, completed: int, sent: int, before: int = 1) -> GrowthCheck:
    application = catalogue.load("hotel-reservation").application
    summary = check_of([{"name": "reservations", "all": {"sent": sent, "completed": completed}}])
    (row,) = check(application, {KEY: before}, {KEY: before + grew}, summary)
    return row


@pytest.mark.parametrize("grew", [10, 11, 12])
def test_between_completed_and_sent_is_right(grew: int) -> None:
    row = after(grew, completed=10, sent=12)
    assert row.ok
    assert (row.grew, row.completed, row.sent) == (grew, 10, 12)


def test_a_collection_that_is_not_there_did_not_grow_by_nothing() -> None:
    application = catalogue.load("hotel-reservation").application
    summary = check_of([{"name": "reservations", "all": {"sent": 4, "completed": 4}}])
    (row,) = check(application, {KEY: 1}, {}, summary)
    assert not row.ok and row.grew is None and "cannot be counted" in row.message


def test_steps_of_sessions_count_too() -> None:
    application = catalogue.load("hotel-reservation").application
    names = {"reservations": 10, "visit.reservations": 5, "visit.login": 7, "other": 3, "reservationsx": 2}
    operations = [{"name": name, "all": {"sent": count, "completed": count - 1}} for name, count in names.items()]
    (row,) = check(application, {KEY: 1}, {KEY: 14}, check_of(operations))
    assert (row.grew, row.completed, row.sent, row.ok) == (13, 13, 15, True)


def test_the_writes_of_a_script_are_recognised_by_method_and_path() -> None:
    application = catalogue.load("hotel-reservation").application
    names = {"POST /reservation": 10, "GET /hotels": 90}
    operations = [{"name": name, "all": {"sent": count, "completed": count}} for name, count in names.items()]
    (row,) = check(application, {KEY: 1}, {KEY: 11}, check_of(operations))
    assert (row.completed, row.ok) == (10, True)
    (row,) = check(application, {KEY: 1}, {KEY: 10}, check_of(operations))
    assert not row.ok


def test_of_what_a_driver_does_not_tell_nothing_is_guessed() -> None:
    application = catalogue.load("hotel-reservation").application
    assert check(application, {KEY: 1}, {KEY: 99}, check_of([], "wrk")) == []
    operations = [{"name": "reservations", "all": {"sent": None, "completed": 10}}]
    (more,) = check(application, {KEY: 1}, {KEY: 99}, check_of(operations, "wrk"))
    assert more.ok and more.message.endswith("10 completed, the number sent is not reported")
    (less,) = check(application, {KEY: 1}, {KEY: 9}, check_of(operations, "wrk"))
    assert not less.ok
    assert check(application, {KEY: 1}, {KEY: 9}, check_of([{"name": "reservations"}], "wrk")) == []


def test_lost_writes_are_found() -> None:
    row = after(9, completed=10, sent=12)
    assert not row.ok
    grew = "documents-reservation/reservation grew by 9; reservations: 10 completed, 12 sent"
    assert row.message == f"{grew}: 1 answered writes are not there"


def test_what_a_store_that_was_moved_has_lost() -> None:
    application = catalogue.load("docstore").application
    summary = check_of([{"name": "insert", "all": {"sent": 45, "completed": 43}}])
    documents = ("couchdb", "documents")
    assert lost(application, {documents: 1000}, {documents: 1043}, summary) == []
    for there, missing in ((0, "1,043"), (1000, "43")):
        (sentence,) = lost(application, {documents: 1000}, {documents: there}, summary)
        assert sentence == f"couchdb/documents: {missing} of 1,043 documents are lost"
    (sentence,) = lost(application, {documents: 1000}, None, summary)
    assert sentence == "documents are lost or out of reach: 1,043 in couchdb/documents"
    assert lost(application, {documents: 0}, None, check_of([])) == []


def test_writes_that_were_not_sent_are_found() -> None:
    row = after(13, completed=10, sent=12)
    assert not row.ok
    assert row.message.endswith(": 1 more than were sent")


def test_what_was_not_part_of_the_load_must_not_have_grown() -> None:
    application = catalogue.load("hotel-reservation").application
    (same,) = check(application, {KEY: 1}, {KEY: 1}, check_of([]))
    (more,) = check(application, {KEY: 1}, {KEY: 2}, check_of([]))
    assert same.ok and not more.ok


def test_where_no_room_may_be_left_only_the_upper_bound_counts() -> None:
    full = after(3, completed=10, sent=12, before=60_000)
    assert full.ok and "it may be full" in full.message
    assert not after(13, completed=10, sent=12, before=60_000).ok


def test_a_collection_that_cannot_be_counted_fails() -> None:
    application = catalogue.load("hotel-reservation").application
    (row,) = check(application, {}, {}, check_of([]))
    assert not row.ok and "there is no such collection" in row.message


SEVERAL = """\
name: tiny
entry: {service: web, port: http}
services:
  web: {tier: frontend, runs: {stone: social/frontend}, ports: {http: 80}}
  store: {tier: caching, runs: {software: redis}}
workloads:
  mixed:
    operations:
      compose: {path: /}
      upload: {path: /upload}
      session: {steps: [{name: login, path: /}, {name: compose, path: /}, {name: upload, path: /}]}
default_workload: mixed
checks:
  - {store: store, collection: all, operations: [compose, upload]}
  - {store: store, collection: some, operations: [compose, session.compose, session.upload]}
  - {store: store, collection: steps, operation: session.compose}
"""


def test_growth_by_several_operations_counts_each_request_once() -> None:
    application = Document(SEVERAL, "application.yaml").parse(Application)
    names = {"compose": 1, "upload": 10, "session.login": 100, "session.compose": 1000, "session.upload": 10000}
    operations = [{"name": name, "all": {"sent": count, "completed": count}} for name, count in names.items()]
    counts = {"all": 11011, "some": 11001, "steps": 1000}
    after = {("store", name): count for name, count in counts.items()}
    rows = check(application, dict.fromkeys(after, 0), after, check_of(operations))
    assert [(row.completed, row.ok) for row in rows] == [(count, True) for count in counts.values()]
    assert rows[0].message == "store/all grew by 11,011; compose and upload: 11,011 completed, 11,011 sent"


def test_writes_that_were_not_answered_are_counted() -> None:
    application = Document(SEVERAL.replace("upload: {path", "upload: {method: POST, path"), "a.yaml").parse(Application)
    mixed = application.workloads["mixed"]
    sent = {"compose": 100, "upload": 7, "session.login": 100}
    operations: list[dict[str, Any]] = [
        {"name": name, "all": {"sent": count, "completed": 5}} for name, count in sent.items()
    ]
    assert unfinished(mixed, check_of(operations)) == 2
    scripted = [{"name": name, "all": {"sent": 9, "completed": 5}} for name in ("GET /", "POST /a", "PUT /a")]
    assert unfinished(Path("mixed.lua"), check_of(scripted)) == 8
    operations[1]["all"]["sent"] = None
    assert unfinished(mixed, check_of(operations)) is None
    assert unfinished(Path("mixed.lua"), check_of([])) is None


def test_what_stores_hold_together_is_reported_with_examples_where_it_is_wrong() -> None:
    right = {"what": "users", "want": 962, "have": 962, "ok": True, "examples": []}
    wrong = {"what": "posts in home timelines", "want": 12345, "have": 12340, "ok": False, "examples": ["p7", "p9"]}
    first, second = among_stores([right, wrong])
    assert first.ok and first.message == "users: 962, wanted 962"
    assert not second.ok
    assert second.message == "posts in home timelines: 12,340, wanted 12,345; for example p7, p9"
