"""Tables of nodes, replicas, C-states and power, from readings whose growth is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from loadstone.analysis.metrics import nodes, power, replicas
from loadstone.analysis.metrics.windows import WindowValues, measure
from loadstone.model.records.observed import Observed, ObservedNode
from loadstone.model.records.reading import Reading
from tests import observed as made

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND


def measured(readings: list[made.Reading]) -> WindowValues:
    return measure(made.table(readings, START, 12), START + SECOND, START + 10 * SECOND)


def seen(kind: str = "rich", **changed: Any) -> Observed:
    """What was observed; ``changed`` are keys of nodes, by node."""
    nodes = {name: node | changed.get(name, {}) for name, node in made.nodes(kind).items()}
    where = {s: {"service": s, "tier": "logic", "node": made.where(s)} for s in made.SERVICES}
    return Observed.model_validate({"nodes": nodes, "replicas": {f"{s}-1": item for s, item in where.items()}})


def test_a_node_has_what_its_counters_say():
    rows = {row.node: row for row in nodes.nodes(seen(), measured(list(made.rich(0.5))))}
    assert list(rows) == ["worker-1", "worker-2", "client"]
    row, load = rows["worker-1"], 0.35
    assert row.cpus == 4
    assert row.cpu_cores == pytest.approx(4 * load)
    assert row.cpu_user_cores == pytest.approx(4 * load * 0.62)
    assert row.cpu_irq_cores == pytest.approx(4 * load * 0.08)
    assert row.cpu_iowait_cores == pytest.approx(0.02)
    assert row.memory_used_bytes == pytest.approx(32e9 - 26e9 + 2e9 * load)
    assert row.context_switches_per_s == pytest.approx(2000 + 60_000 * load)
    assert row.clock_offset_ms == pytest.approx(0.025)
    assert row.frequency_ghz == pytest.approx(2.2)
    assert (row.readings, row.skipped) == (12, 0)
    assert [row.replicas for row in rows.values()] == [True, True, False]


def test_what_passes_two_interfaces_or_two_layers_of_a_disk_counts_once():
    row = nodes.nodes(seen(), measured(list(made.rich(0.5))))[0]
    assert row.network_received_bytes_per_s == pytest.approx(2e4 + 9e6 * 0.35)
    assert row.disk_written_bytes_per_s == pytest.approx(4e5 * 0.35)


@pytest.mark.parametrize(
    ("kind", "real", "inner"),
    [
        ("interface:", "eth0 eno1 ens3 enp65s0f0 ib0 wlan0 bond0", "lo veth1a docker0 br-5f cni0 flannel.1 cali7 tap3"),
        ("disk:", "sda vdb nvme0n1 mmcblk0", "sda1 vdb12 nvme0n1p2 mmcblk0p1 dm-0 loop3 md0 sr0 zram0"),
    ],
)
def test_interfaces_and_disks_that_are_others_in_disguise(kind: str, real: str, inner: str):
    metric = "network_received_bytes_total" if kind == "interface:" else "disk_read_bytes_total"
    column = metric.replace("_total", "_per_s")
    every: list[made.Reading] = [("a", f"{kind}{name}", metric, 0.0, 1.0) for name in (*real.split(), *inner.split())]
    alone = Observed(nodes={"a": ObservedNode(recorded=True)}, replicas={})
    (row,) = nodes.nodes(alone, measured(every))
    assert getattr(row, column) == pytest.approx(len(real.split()))


def test_a_machine_that_nodes_share_has_a_row_and_each_node_with_cpus_of_its_own():
    rows = {row.node: row for row in nodes.nodes(seen("poor"), measured(list(made.poor(0.5))))}
    assert list(rows) == ["worker-1 + worker-2 + client", "worker-1", "worker-2", "client"]
    machine, worker = rows["worker-1 + worker-2 + client"], rows["worker-1"]
    assert machine.shared_by == ("worker-1", "worker-2", "client") and worker.shared_by is None
    assert worker.cpus == 2
    assert worker.cpu_cores == pytest.approx(0.3 * (1.1 + 0.9))  # the second and third of its CPUs
    assert machine.memory_used_bytes and worker.memory_used_bytes is None
    overlapping = seen("poor", client={"cpus": [0, 1]})
    assert [row.node for row in nodes.nodes(overlapping, measured(list(made.poor(0.5))))] == list(rows)[:1]


def test_replicas_and_their_services():
    rows = replicas.replicas(seen(), measured(list(made.rich(0.8))))
    assert [row.replica for row in rows] == [f"{s}-1" for s in made.SERVICES]
    search = next(row for row in rows if row.service == "search")
    assert search.cores == pytest.approx(3 * 0.22 * 0.8)
    assert search.throttled_periods_share == pytest.approx(0.25 * 0.9)
    assert search.throttled_share == pytest.approx(0.4 * 0.25 * 0.9)
    assert (search.threads_before, search.threads_after) == (11, 20)
    assert search.threads is not None and 11 < search.threads < 20
    assert search.block_read_bytes_per_s == 0
    assert search.block_written_bytes_per_s == pytest.approx(2e5 * 0.8)
    twice = [search, replace(search, replica="search-2", node="worker-2", throttled_periods_share=0.0)]
    (service,) = replicas.services(twice, seen())
    assert (service.replicas, service.nodes, service.threads_after) == (2, 2, 40)
    assert service.cores == pytest.approx(2 * search.cores)
    assert service.throttled_periods_share == pytest.approx(0.25 * 0.9 / 2)
    (service,) = replicas.services([search, replace(search, cores=None)], seen())
    assert service.cores is None and service.memory_bytes == 2 * search.memory_bytes


def test_without_quotas_nothing_is_reported_of_throttling():
    rows = replicas.replicas(seen("poor"), measured(list(made.poor(0.8))))
    assert len(rows) == len(made.SERVICES)
    assert {row.throttled_share for row in rows} == {row.throttled_periods_share for row in rows} == {None}


def test_c_states_fill_all_time_and_are_sorted_by_depth():
    rows = [row for row in power.cstates(seen(), measured(list(made.rich(0.5)))) if row.node == "worker-1"]
    assert [row.state for row in rows] == ["POLL", "C1", "C1E", "C6", "C0"]
    assert sum(row.share for row in rows) == pytest.approx(1)
    shares = {row.state: row.share for row in rows}
    assert shares["C6"] == pytest.approx(0.54 * 0.65) and shares["C0"] == pytest.approx(0.35)
    entered = {row.state: row.transitions_per_s for row in rows}
    assert entered["C1"] == pytest.approx(4 * 900 * 0.9) and entered["C0"] is None
    mixed = ["C10", "C2_ACPI", "POLL", "C1E", "C1"]
    assert sorted(mixed, key=power._depth) == ["POLL", "C1", "C1E", "C2_ACPI", "C10"]


def test_power_adds_packages_and_memory_of_nodes_with_replicas():
    everything = list(made.rich(0.5))
    everything += [("client", "power:package-0", "energy_joules_total", 0.0, 500.0)]
    rows = power.power(seen(), measured(everything))
    assert {row.kind for row in rows} == {"package", "core", "dram"}
    found = power.energy(rows, 100.0, seen())
    package = 2 * 28 + 60 * (0.35 + 0.125)
    dram = 2 * 3 + 6 * (0.35 + 0.125)
    assert found is not None and found.nodes == 2
    assert found.package_watts == pytest.approx(package) and found.dram_watts == pytest.approx(dram)
    assert found.watts == pytest.approx(package + dram)
    assert found.joules_per_request == pytest.approx((package + dram) / 100)
    assert power.energy(rows, 0.0, seen()).joules_per_request is None  # type: ignore[union-attr]
    without = [row for row in rows if row.kind != "dram"]
    assert power.energy(without, 100.0, seen()).watts == pytest.approx(package)  # type: ignore[union-attr]


def test_power_of_some_nodes_is_not_that_of_all():
    only = [reading for reading in made.rich(0.5) if reading[:1] + reading[2:3] != ("worker-2", "energy_joules_total")]
    assert power.energy(power.power(seen(), measured(only)), 100.0, seen()) is None


def test_replicas_that_were_not_recorded_leave_no_sum_of_their_service():
    rows = [row for row in replicas.replicas(seen(), measured(list(made.rich(0.8)))) if row.service == "search"]
    two = seen()
    two.replicas["search-2"] = two.replicas["search-1"]
    (service,) = replicas.services(rows, two)
    assert (service.replicas, service.cores, service.memory_bytes, service.throttled_share) == (2, None, None, None)


def test_a_frequency_is_the_mean_of_all_cpus():
    row = nodes.nodes(seen(), measured(_silent("frequency_hertz")))[0]
    assert row.node == "worker-1" and row.frequency_ghz is None


def _silent(metric: str) -> list[made.Reading]:
    """All readings; those of one CPU are no numbers."""
    every = list(made.rich(0.5))
    quiet = next(reading for reading in every if reading[0] == "worker-1" and reading[2] == metric)
    return [reading if reading != quiet else (*reading[:3], float("nan"), 0.0) for reading in every]


def test_a_state_that_only_some_cpus_have_is_a_share_of_the_time_of_all():
    every = [r for r in made.rich(0.5) if not (r[1].endswith("/C6") and r[1].startswith(("cpu:2", "cpu:3")))]
    rows = [row for row in power.cstates(seen(), measured(every)) if row.node == "worker-1"]
    shares = {row.state: row.share for row in rows}
    assert shares["C6"] == pytest.approx(0.54 * 0.65 / 2) and sum(shares.values()) == pytest.approx(1)
    assert shares["C0"] == pytest.approx(0.35 + 0.54 * 0.65 / 2)


def test_what_a_machine_lacks_is_not_there():
    poor = measured(list(made.poor(0.5)))
    assert power.cstates(seen("poor"), poor) == power.power(seen("poor"), poor) == []
    assert power.energy([], 100.0, seen()) is None


def test_processor_time_that_was_read_at_the_windows_ends_is_not_interpolated():
    """One row a replica for each window: that of a release which read a second late does not count."""
    names = [row.replica for row in replicas.replicas(seen(), measured(list(made.rich(0.8))))]
    loose = Reading(service="geo", tier="logic", window_s=2.0, cpu_s=3.0, periods=20, throttled_periods=5)
    exactly = {"replica": names[0], "from_ns": 1, "to_ns": 2}
    readings = [loose.model_copy(update=exactly), loose.model_copy(update={"replica": names[1]})]
    plain = replicas.replicas(seen(), measured(list(made.rich(0.8))))
    first, second = replicas.replicas(seen(), measured(list(made.rich(0.8))), readings)[:2]
    exact = replace(plain[0], cores=1.5, throttled_share=None, throttled_periods_share=0.25)
    assert (first, second) == (exact, plain[1])
