"""A study on hosts over SSH, and what is recorded of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import yaml

from tests.support import applications
from tests.support.users import User

STUDY = """\
version: 1
name: over-ssh
application: application.yaml
cluster: {infrastructure: hosts, inventory: INVENTORY, workers: 3}
factors: {orchestrator: [process]}
load: {rates: [10, 15, 20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 5s, order: sequential}
metrics: {}
"""


def write_shop(user: User) -> None:
    """The application of the study."""
    (user.home / "application.yaml").write_text(yaml.safe_dump(applications.shop()))


def recorded(trial: Path) -> set[str]:
    """The nodes whose own counters, and those of whose replicas, are in a trial's file."""
    table = pq.read_table(trial / "metrics.parquet", columns=["node", "metric"])
    metrics = {(row["node"], row["metric"]) for row in table.to_pylist()}
    return {node for node, metric in metrics if metric == "load1" and (node, "container_memory_bytes") in metrics}
