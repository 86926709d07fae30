"""A disk that is full in a study, of the state, of temporary files or of a node: a clear end, and nothing lost."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import pytest

from tests.campaign import studies
from tests.support.disks import disk
from tests.support.users import User, wait

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.long, pytest.mark.timeout(900)]

RATES = [20, 30, 40]
DISKS = {"state": 16, "tmp": 32, "data": 1024}
"""Megabytes of a disk below each folder of a run."""


def fill(folder: Path) -> Path:
    """Fill a disk to its last byte."""
    ballast = folder / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    return ballast


@pytest.mark.parametrize("began", [False, True], ids=["before", "in-a-trial"])
@pytest.mark.parametrize("name", DISKS)
def test_a_full_disk_loses_nothing(name: str, began: bool, user: User) -> None:
    studies.write(user, RATES)
    with disk(user.home / name, DISKS[name]) as folder:
        ballast = fill(folder) if not began else folder / "ballast"
        process = studies.start(user)
        if began:
            wait(lambda: any(user.home.glob("results/*/*/trials/*/load.json")) or process.poll() is not None)
            fill(folder)
        code = process.wait(300)
        printed, before = (user.home / "log").read_text(), studies.finished(user)
        assert "Traceback" not in printed, printed
        assert code == 0 or re.search("(?i)no space left on device|no room|is full", printed), printed
        ballast.unlink()
        user.runs("down")
        again = user.starts(*(["run", "--resume"] if before else ["run", "study.yaml"]))
        shown = "".join(again.communicate(timeout=300))
        assert again.returncode in (0, 4) and "Traceback" not in shown, shown  # 4: trials of before were invalid
        assert before.items() <= studies.finished(user).items()
        lost = [record for record in studies.records(user) if record["row"]["errors"]]
        assert all("is full" in " ".join(record["verdict"]["reasons"]) for record in lost), lost
        assert len(studies.records(user)) == len(RATES)
        user.runs("down")
        assert studies.left(user) == []
        last = [line for line in printed.splitlines() if line.strip()][-1]
        print(
            f"full disk of {name}, {'in a trial' if began else 'before'}: exit {code}; {len(before)} finished; {last}"
        )


def test_it_is_filled_to_its_last_byte(tmp_path: Path) -> None:
    with disk(tmp_path / "small", 4) as folder:
        fill(folder)
        assert os.statvfs(folder).f_bavail < 8
