"""A study whose clients send a number of requests: nothing is lost, also when it is killed and resumed."""

from __future__ import annotations

import signal

import pyarrow.parquet as pq
import pytest
import yaml

from tests.support import applications
from tests.support.users import User, end

pytestmark = pytest.mark.system

STUDY = """\
version: 1
name: counted
application: application.yaml
load:
  closed: {clients: [1, 3], think: 20ms, requests: 20, iterations: 3}
  timeout: 20s
  lateness: 10s
  record_requests: true
metrics: off
trial: {warmup: 1s, order: sequential, repetitions: 2}
"""


@pytest.mark.long
def test_killed_and_resumed_every_trial_has_all_its_iterations(user: User) -> None:
    (user.home / "application.yaml").write_text(yaml.safe_dump(applications.shop()))
    (user.home / "study.yaml").write_text(STUDY)
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=1)
    assert end(process, signal.SIGKILL)[0] == -signal.SIGKILL
    stamps = {path: path.stat().st_mtime_ns for path in user.home.glob("results/*/*/trials/*/trial.json")}
    user.runs("run", "--resume")
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items()), "a finished trial was repeated"
    (table,) = user.home.glob("results/*/*/trials.parquet")
    rows = pq.read_table(table).to_pylist()
    assert sorted(row["clients"] for row in rows) == [1, 1, 3, 3]
    for row in rows:
        assert row["verdict"] == "measured", row["reasons"]
        folder = table.parent / "trials" / row["trial_id"]
        made = pq.read_table(folder / "iterations.parquet").to_pylist()
        requests = pq.read_table(folder / "requests.parquet").to_pylist()
        assert row["sent"] == len(requests) == sum(each["requests"] for each in made) == 60 * row["clients"]
        assert len(made) == row["iterations"] == 3 * row["clients"]
        for each in made:
            same = {name: each[name] for name in ("client", "iteration")}
            mine = [request for request in requests if same.items() <= request.items()]
            assert len(mine) == each["requests"] == 20
            duration = max(request["ended_ns"] for request in mine) - min(request["scheduled_ns"] for request in mine)
            assert duration / 1e9 == pytest.approx(each["duration_s"])
