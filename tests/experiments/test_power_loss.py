"""Power cuts at random moments of a study: every finished trial is whole, and the run goes on."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.experiments.resume import reopen
from loadstone.model.records.summary import TrialSummary
from loadstone.workloads.base import Offer, Progress
from tests.experiments.disks import Disk
from tests.experiments.fakes import Begin, FakeDriver, conduct

pytestmark = pytest.mark.usefixtures("fake_layers")
CUTS = 50


class WritingDriver(FakeDriver):
    """Writes a file that it does not synchronise, as generators do."""

    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        (offer.folder / "latency.hlog").write_bytes(random.Random(offer.seed).randbytes(10_000))
        return super().run(offer, progress)


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_finished_trial_is_whole_after_a_power_cut_at_any_moment(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(1)
    certain_at: list[int] = []

    def cut(number: int) -> None:
        if number not in moments:
            return
        copy = tmp_path / f"cut-{number}"
        disk.after_cut(tmp_path / "results", copy, chance)
        _, found = reopen(copy / ledger.folder.relative_to(tmp_path / "results"))
        whole = {record.trial_id for record in found.records}
        assert {record.trial_id for record in ledger.records} <= whole, "a finished trial is lost"
        for trial in whole:
            assert files(found.folder / "trials" / trial).items() >= finished(trial).items(), "it lost a file"
        if (table := found.folder / "trials.parquet").exists():
            assert pq.read_table(table).num_rows <= len(whole)
        certain_at.append(len(whole))

    def finished(trial: str) -> dict[str, bytes]:
        return {name: data for name, data in files(ledger.folder / "trials" / trial).items() if name[0] != "."}

    moments: set[int] = set()
    disk = Disk(cut)
    monkeypatch.setattr(os, "fsync", disk.fsync)
    plan, ledger = begin()
    begun = disk.number
    conduct(plan, ledger, WritingDriver())
    total = disk.number

    disk.number = 0
    plan, ledger = begin()
    moments.update(random.Random(2).sample(range(begun + 1, total + 1), CUTS))
    conduct(plan, ledger, WritingDriver())
    print(f"power loss: {len(certain_at)} cuts, {certain_at[0]} to {max(certain_at)} trials finished, all whole")
    assert len(certain_at) == CUTS and max(certain_at) > 6
