"""A disk that is full, or fails, in a study: a clear error, and the run goes on when it is another."""

from __future__ import annotations

import errno
import itertools
import os
import resource
import signal
from typing import Any

import pytest

from loadstone.experiments.resume import reopen
from loadstone.model.errors import DiskError
from tests.experiments.fakes import Begin, FakeDriver, conduct

pytestmark = pytest.mark.usefixtures("fake_layers")


def test_a_full_disk_is_a_clear_error_and_finished_trials_are_intact(begin: Begin) -> None:
    plan, ledger = begin()

    class Hog(FakeDriver):
        def run(self, *given: Any) -> dict[str, Any]:
            if len(self.ran) == 4:  # from now on no file may grow beyond nothing
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
            return super().run(*given)

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(DiskError, match="finished trials are intact"):
            conduct(plan, ledger, Hog())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    plan, reopened = reopen(ledger.folder)
    assert len(reopened.records) == 4
    conduct(plan, reopened)
    assert len(reopened.records) == 12


@pytest.mark.parametrize("call", [2, 30, 100])
def test_a_disk_that_fails_is_a_clear_error_and_finished_trials_are_intact(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """EIO of the ``call``-th fsync, and of all that follow."""
    plan, ledger = begin()
    really, calls = os.fsync, itertools.count(1)

    def fails(descriptor: int) -> None:
        if next(calls) >= call:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        really(descriptor)

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fails)
        with pytest.raises(DiskError, match=r"Input/output error; finished trials are intact(.|\n)*dmesg"):
            conduct(plan, ledger)
    finished = {record.trial_id for record in ledger.records}
    plan, reopened = reopen(ledger.folder)
    assert finished <= {record.trial_id for record in reopened.records} and len(finished) < 12
    conduct(plan, reopened)
    assert len(reopened.records) == 12
