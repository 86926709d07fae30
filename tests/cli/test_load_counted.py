"""``loadstone load`` with clients that send a number of requests, or at a pace."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.cli.main import run_command

URL = "http://127.0.0.1:8080/"
REFUSED = [
    (["--rate", "5", "--count", "10"], "--count is for --closed"),
    (["--closed", "5", "--count", "3", "--iterations", "0"], "--iterations: 0 is too small; it must be at least 1"),
    (["--rate", "5", "--iterations", "-1"], "--iterations is for --closed"),
    (["--rate", "5", "--iterations", "2"], "--iterations is for --closed"),
    (["--closed", "5", "--count", "0"], "--count: 0 is too small"),
    (["--closed", "5", "--iterations", "2"], "--iterations: of how many requests?"),
    (["--closed", "5", "--pace", "0"], "--pace: 0 is too small"),
]


@pytest.mark.parametrize(("options", "complaint"), REFUSED, ids=lambda value: " ".join(value))
def test_what_is_wrong_names_its_option(options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["load", URL, *options]) == 2
    assert complaint in capsys.readouterr().err


def test_clients_that_send_a_number_of_requests(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    options = ["--closed", "3", "--count", "20", "--iterations", "2", "--warmup", "0", "--out", str(kept)]
    code = run_command(["load", f"http://{server}/", *options])
    shown = capsys.readouterr()
    assert code in (0, 4), shown.err  # a machine that is busy makes it invalid
    assert "2 x 20 requests of each" in shown.out and "6 iterations: mean" in shown.out
    assert pq.read_table(kept / "iterations.parquet").num_rows == 6
    assert json.loads((kept / "summary.json").read_text())["counts"]["sent"] == 120
