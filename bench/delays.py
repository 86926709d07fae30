"""A known delay is put into a service of Hotel Reservation: does it show up there, as long as it is?"""

from __future__ import annotations

import json
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

from bench.common import ROOT, Row
from loadstone.analysis import traces

DELAY_MS = 5.0
SERVICE = "search"
RATE, ROUNDS = 100, 4


def delay_rows(study: dict[str, Any], folder: Path) -> list[Row]:
    """Growth of the delayed service's exclusive time, over rounds of alternating trials."""
    folder.mkdir()
    file = folder / "study.yaml"
    varied = {"delays": ["off", {SERVICE: f"{DELAY_MS:g}ms"}]}
    trial = {"warmup": "2s", "duration": "8s", "repetitions": ROUNDS, "order": "interleaved"}
    file.write_text(yaml.safe_dump({**study, "factors": varied, "traces": {"sample": 1}, "trial": trial}))
    command = [str(ROOT / ".venv/bin/loadstone"), "run", str(file), "--results", str(folder / "results")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    own: dict[str, dict[int, float]] = defaultdict(dict)
    for path in sorted(folder.glob("results/*/*/trials/*")):
        row = json.loads((path / "trial.json").read_text())["row"]
        if row["verdict"] == "held":
            own[row["factor_delays"]][row["repetition"]] = _own_ms(path)
    slower, normal = own[f"{SERVICE}:{DELAY_MS:g}ms"], own["none"]
    found = [slower[number] - normal[number] for number in normal if number in slower]
    if not found:
        raise SystemExit(f"no valid pair of trials with a delay\n{done.stdout}{done.stderr}")
    median = statistics.median(found)
    title = f"{DELAY_MS:g} ms put into {SERVICE}: the median of its own time grows by"
    ratio = median / DELAY_MS
    holds = abs(ratio - 1) <= 0.05
    return [Row(title, "ms", median, min(found), max(found), "the delay", DELAY_MS, ratio, "within 5 %", holds)]


def _own_ms(trial: Path) -> float:
    """The median of the service's exclusive time; all of its calls are on the critical path."""
    window = json.loads((trial / "observed.json").read_text())["window"]
    spans = traces.read(trial / "spans.parquet", window["from_ns"], window["to_ns"])
    operations = traces.analyse(spans).operations.to_pylist()
    [own] = [operation for operation in operations if operation["service"] == SERVICE and operation["peer"] == ""]
    return float(own["exclusive_p50_ms"])
