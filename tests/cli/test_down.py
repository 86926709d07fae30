"""What ``loadstone down`` removes, what it leaves and what it says of it."""

from __future__ import annotations

import pytest

from loadstone.infrastructure import identity, journal
from loadstone.infrastructure.journal import JournalEntry
from tests.cli.conftest import RunCommand


def test_what_another_machine_started_stays_and_is_named(say: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("socket.gethostname", lambda: "other")
        patch.setattr(identity, "machine_id", lambda: "0ther")
        journal.save(JournalEntry(name="a", layer="orchestrators", implementation="compose", folder="/"))
    for verb in ("down", "status"):
        code, _, complaint = say(verb)
        assert code == 0 and "a was started on other, which shares the journal" in complaint, verb
    code, _, complaint = say("down", "a")
    assert code == 2 and "'a' was started on other" in complaint
    assert journal.elsewhere() == {"a": "other"}
