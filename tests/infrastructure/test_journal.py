"""The journal undoes deployments before clusters, and a cluster takes what is on it along."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from socket import gethostname

import pytest

from loadstone import plugins
from loadstone.infrastructure import identity, journal, temporary
from loadstone.infrastructure.journal import JournalEntry
from loadstone.model.errors import DeploymentError, DiskError, InputError, PreflightError

undone: list[str] = []


class Undoes:
    """Forgets an entry and remembers that it did."""

    @classmethod
    def undo(cls, entry: JournalEntry) -> list[str]:
        undone.append(entry.name)
        journal.forget(entry.name)
        return [f"{entry.name} by {entry.implementation}"]


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path))
    monkeypatch.setattr(plugins, "find", lambda layer, name: Undoes)
    undone.clear()
    yield


def cluster(name: str) -> None:
    journal.save(JournalEntry(name=name, layer="infrastructure", implementation="namespaces", folder="/"))


def deployment(name: str, cluster: str = "") -> None:
    facts = {"access": {"cluster": cluster}}
    journal.save(JournalEntry(name=name, layer="orchestrators", implementation="swarm", folder="/", facts=facts))


def test_a_cluster_takes_its_deployments_along_and_others_go_first() -> None:
    cluster("a-cluster")
    deployment("z-elsewhere")
    deployment("a", "a-cluster")
    assert journal.remove_all() == ["a", "z-elsewhere by swarm", "a-cluster by namespaces"]
    assert undone == ["z-elsewhere", "a-cluster"]
    assert journal.entries() == []


def test_a_name_means_its_cluster_too_and_nothing_else() -> None:
    cluster("a-cluster")
    deployment("a", "a-cluster")
    deployment("b")
    assert journal.remove_all(["a"]) == ["a", "a-cluster by namespaces"]
    assert [entry.name for entry in journal.entries()] == ["b"]


def test_a_cluster_by_name_takes_what_is_on_it() -> None:
    cluster("run-cluster")
    deployment("run-1", "run-cluster")
    deployment("run-2", "run-cluster")
    assert journal.remove_all(["run-cluster"]) == ["run-1", "run-2", "run-cluster by namespaces"]


def test_what_lay_on_a_cluster_that_is_gone_is_gone() -> None:
    deployment("a", "a-cluster")
    assert journal.remove_all(["a"]) == ["a"]
    assert undone == []
    assert journal.entries() == []


def test_an_unknown_name_is_reported_with_what_there_is() -> None:
    cluster("a-cluster")
    with pytest.raises(InputError, match="no deployment 'a-clusters'; did you mean 'a-cluster'"):
        journal.remove_all(["a-clusters"])
    assert len(journal.entries()) == 1


def test_an_entry_that_others_could_have_written_is_refused(tmp_path: Path) -> None:
    deployment("a")
    tmp_path.joinpath("a.json").chmod(0o666)
    with pytest.raises(DeploymentError, match=r"a\.json: user \d+ or others could have written"):
        journal.remove_all()
    tmp_path.joinpath("a.json").chmod(0o600)
    tmp_path.chmod(0o777)
    with pytest.raises(DeploymentError, match="others could have written what is to be removed"):
        journal.remove_all()
    tmp_path.chmod(0o700)
    assert journal.remove_all() == ["a by swarm"]


def test_the_name_of_a_forged_entry_leads_nowhere_else(tmp_path: Path) -> None:
    kept = tmp_path.parent / "kept"
    kept.mkdir()
    deployment("a")
    forged = tmp_path / "a.json"
    forged.write_text(forged.read_text().replace('"name": "a"', '"name": "../kept"'))
    with pytest.raises(DeploymentError, match=r"a\.json: is the journal entry of '\.\./kept'"):
        journal.remove_all()
    forged.unlink()
    forged.symlink_to(kept)
    with pytest.raises(DeploymentError, match=r"a\.json: not a readable journal entry"):
        journal.remove_all()
    assert kept.is_dir()


def test_an_entry_of_other_bytes_is_named(tmp_path: Path) -> None:
    deployment("a")
    tmp_path.joinpath("a.json").write_bytes(b"\xff\x00\xfe")
    with pytest.raises(DeploymentError, match=r"a\.json: not a readable journal entry"):
        journal.remove_all()


def test_what_another_machine_started_in_a_shared_folder_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    deployment("a")
    with monkeypatch.context() as patch:
        patch.setattr(identity, "machine_id", lambda: "0ther")
        deployment("b")
        assert [entry.name for entry in journal.entries()] == ["b"]
        assert journal.elsewhere() == {"a": gethostname()}
        with pytest.raises(InputError, match=f"'a' was started on {gethostname()}: .*there"):
            journal.remove_all(["a"])
        with pytest.raises(DeploymentError, match=f"a was started on {gethostname()}, .*\n.*LOADSTONE_STATE"):
            journal.load("a")
        assert journal.remove_all() == ["b by swarm"]
    assert journal.elsewhere() == {}
    assert journal.remove_all() == ["a by swarm"]


def test_an_entry_that_is_not_understood_is_named_and_keeps_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reads(Undoes):
        """Reads facts that another release did not write."""

        @classmethod
        def undo(cls, entry: JournalEntry) -> list[str]:
            if entry.implementation == "swarm":
                entry.facts["access"]["cluster"].removeprefix(entry.facts["token"])
            return super().undo(entry)

    monkeypatch.setattr(plugins, "find", lambda layer, name: Reads)
    deployment("a")
    tmp_path.joinpath("b.json").write_text('{"version": 2}')
    cluster("c")
    with pytest.raises(DeploymentError) as failed:
        journal.remove_all()
    remedy = "  if another release of Loadstone wrote it, use that one; else stop what it lists by hand, then delete it"
    assert str(failed.value).splitlines() == [
        f"{tmp_path}/b.json: not a readable journal entry: 5 fields are wrong",
        remedy,
        f"{tmp_path}/a.json: its facts are not understood: KeyError: 'token'",
        remedy,
        "removed c by namespaces",
    ]
    deployment("d", "gone-cluster")
    assert journal.remove_all(["d"]) == ["d"], "what is not to be removed need not be understood"
    with pytest.raises(DeploymentError, match=r"b\.json: not a readable"):
        journal.remove_all(["b"])


SAVED_AND_KILLED = """
import os, signal
from loadstone.infrastructure import journal
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
journal.save(journal.JournalEntry(name="a", layer="infrastructure", implementation="namespaces", folder="/"))
"""


def test_what_is_left_of_an_entry_that_was_being_written_is_swept(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SAVED_AND_KILLED], check=False, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] != ["a"]
    with temporary.directory("journal", tmp_path) as live:  # another process writes one just now
        journal.sweep()
        assert {path.name for path in tmp_path.iterdir()} == {"a", Path(live).name}


def test_a_full_disk_is_a_clear_error_and_keeps_the_entry_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment("a")
    before = {file.name for file in tmp_path.iterdir()}

    def fails(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fails)
        with pytest.raises(DiskError, match=r"cannot write .*: No space left\n  free disk space"):
            deployment("a")
    assert {file.name for file in tmp_path.iterdir()} == before
    assert journal.remove_all() == ["a by swarm"]


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "file" / "state"))
    with pytest.raises(PreflightError, match=r"the journal cannot be written: .*/file/state: .*\n.*LOADSTONE_STATE"):
        deployment("a")


def test_what_cannot_be_removed_keeps_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(Undoes):
        """Fails where its host is lost."""

        @classmethod
        def undo(cls, entry: JournalEntry) -> list[str]:
            if entry.name.startswith("lost"):
                raise DeploymentError(f"{entry.name}: it cannot be reached", "`loadstone down` tries again")
            return super().undo(entry)

    monkeypatch.setattr(plugins, "find", lambda layer, name: Lost)
    for name in ("lost-1", "near", "lost-2"):
        deployment(name)
    cluster("far-machines")
    with pytest.raises(DeploymentError) as failed:
        journal.remove_all()
    assert str(failed.value).splitlines() == [
        "lost-1: it cannot be reached",
        "  `loadstone down` tries again",
        "lost-2: it cannot be reached",
        "  `loadstone down` tries again",
        "removed near by swarm",
        "removed far-machines by namespaces",
    ]
    assert [entry.name for entry in journal.entries()] == ["lost-1", "lost-2"]
