"""Which lines of a trial's logs say that something went wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadstone.analysis.run import logs


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("2026-01-02 ERROR no connection", True),
        ("0 errors", False),
        (json.dumps({"level": "error", "msg": "no connection"}), True),
        (json.dumps({"level": "info", "msg": "no error"}), False),
        (json.dumps({"msg": "no error"}), True),
        (json.dumps({"level": 50, "msg": "no connection"}), True),  # pino
        (json.dumps({"level": 30, "msg": "no error"}), False),
        (json.dumps({"level": 3, "short_message": "no connection"}), True),  # syslog
        (json.dumps({"level": 6, "short_message": "no error"}), False),
        ('{"level": "info", "msg": "error: cut o', True),
        ("[" * 100_000, False),
    ],
)
def test_a_level_decides_where_a_line_has_one(tmp_path: Path, line: str, wrong: bool) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "web.log").write_text(f"{line}\n")
    (log,) = logs.read(tmp_path)
    assert bool(log.wrong) is wrong
