"""What emulated hosts are called and how their links are shaped: nothing is made here."""

from __future__ import annotations

import itertools
import os
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.infrastructure.namespaces import Namespaces, checks, commands
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.nameserver import refusal
from loadstone.infrastructure.namespaces.network import RESERVED, shaping, subnet_for
from loadstone.infrastructure.subprocesses import run
from loadstone.model.cluster import Cluster, Link
from loadstone.model.errors import PreflightError

SUBNETS = st.lists(
    st.builds(
        lambda offset, prefix: IPv4Network((int(RESERVED[0]) + offset, prefix), strict=False),
        st.integers(0, RESERVED.num_addresses - 1),
        st.integers(20, 32),
    ),
    max_size=20,
)


@given(st.integers(1, 1009), SUBNETS)
def test_a_subnet_has_room_for_all_and_overlaps_nothing_in_use(hosts: int, used: list[IPv4Network]) -> None:
    subnet = subnet_for(hosts, used)
    assert subnet.subnet_of(RESERVED)
    assert not any(subnet.overlaps(network) for network in used)
    assert len(list(subnet.hosts())) >= hosts + 1


def test_no_subnet_left_is_reported() -> None:
    with pytest.raises(PreflightError, match=r"no subnet for 5 hosts is free in 198\.18\.0\.0/15\n.*loadstone down"):
        subnet_for(5, RESERVED.subnets(new_prefix=24))


@given(st.integers(0, 9), st.integers(1, 1000))
def test_every_host_has_names_and_addresses_of_its_own(managers: int, workers: int) -> None:
    names = [f"manager-{n + 1}" for n in range(managers)] + [f"worker-{n + 1}" for n in range(workers)]
    emulated = EmulatedHosts(
        "3fa9c1", str(subnet_for(len(names), [])), "/data/emulated-3fa9c1", tuple(names), "loadstone/x"
    )
    hosts, network = emulated.hosts, emulated.network
    for kind in ("name", "address", "namespace", "folder", "group"):
        assert len({getattr(host, kind) for host in hosts}) == len(names)
    assert network.client not in {host.address for host in hosts}
    assert all(len(name) <= 15 for name in (*names, network.interface))  # what the kernel takes
    assert EmulatedHosts.of(emulated.as_data()) == emulated


def test_names_tell_whose_they_are() -> None:
    names, group = ("manager-1", "worker-1"), "loadstone/emulated-3fa9c1-x7k2pq"
    emulated = EmulatedHosts("3fa9c1", "198.18.4.0/24", "/data/emulated-3fa9c1", names, group)
    worker = emulated.hosts[1]
    assert emulated.network.client == "198.18.4.1"
    assert worker.address == "198.18.4.3"
    assert worker.namespace == "/run/netns/emulated-3fa9c1-worker-1"
    assert worker.folder == Path("/data/emulated-3fa9c1/worker-1")
    assert worker.daemons == f"{group}/worker-1/daemons"
    assert worker.containers == f"{group}/worker-1/containers"


def test_shaping() -> None:
    assert shaping("eth0", None, None) == []
    assert shaping("eth0", 1e9, 0) == [
        "qdisc add dev eth0 root handle 10: tbf rate 1000000000bit burst 250000b latency 50ms"
    ]
    assert shaping("eth0", None, 0.0015) == ["qdisc add dev eth0 root handle 1: netem delay 1500us limit 100000"]
    behind = shaping("eth0", 1e6, 0.02)
    assert behind[0] == "qdisc add dev eth0 root handle 1: netem delay 20000us limit 100000"
    assert behind[1] == "qdisc add dev eth0 parent 1:1 handle 10: tbf rate 1000000bit burst 16384b latency 50ms"


@given(st.floats(1e3, 1e11))
def test_a_burst_is_more_than_a_packet(rate: float) -> None:
    arguments = shaping("eth0", rate, None)[0].split()
    burst = dict(itertools.pairwise(arguments))["burst"]
    assert int(burst.removesuffix("b")) >= 10 * 1500


def test_a_sketch_has_the_nodes_that_there_would_be() -> None:
    client, *hosts = Namespaces(Cluster(workers=2), "c").sketch("swarm", 3)
    assert [(node.name, node.role, node.address) for node in hosts] == [
        ("manager-1", "manager", "198.18.0.2"),
        ("manager-2", "manager", "198.18.0.3"),
        ("manager-3", "manager", "198.18.0.4"),
        ("worker-1", "worker", "198.18.0.5"),
        ("worker-2", "worker", "198.18.0.6"),
    ]
    assert (client.name, client.address, client.emulated) == ("client", "198.18.0.1", False)
    assert all(node.emulated and node.reach.local for node in hosts)
    assert len({node.cpus for node in hosts}) == 1  # they share the worker's
    assert client.shared or not set(client.cpus) & set(hosts[0].cpus)


def test_a_swarm_without_managers_is_refused() -> None:
    errors = [f.message for f in Namespaces(Cluster(), "c").preflight("swarm", 0) if f.what == "cluster"]
    assert errors == ["swarm needs a manager, but cluster.managers is 0"]


def test_a_user_who_is_not_root_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert [(f.level, f.message) for f in checks.machine(None)] == [("error", "only root can emulate hosts")]


def test_programs_that_are_missing_are_named_with_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(commands.shutil, "which", lambda program, path: None if program == "tc" else "/bin/x")
    assert [(f.message, f.remedy) for f in checks.machine(None)] == [
        ("tc is not installed", "sudo apt-get install -y iproute2")
    ]


def test_what_the_kernel_lacks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    complaint = "Error: Specified qdisc kind is unknown."
    monkeypatch.setattr(checks, "impossible", lambda command: complaint if "netem" in command else "")
    monkeypatch.setattr(checks, "missing", lambda _: [])
    found = [f for f in checks.machine(Link(rate="1Gbit", delay="1ms")) if f.what.startswith("link")]
    assert [(f.level, f.message, f.remedy) for f in found] == [
        (
            "error",
            f"cluster.link.delay needs netem, which this kernel lacks: {complaint}",
            "leave cluster.link.delay out, or use a kernel with CONFIG_NET_SCH_NETEM",
        )
    ]
    assert [f for f in checks.machine(Link(rate="1Gbit")) if f.what.startswith("link")] == []


def test_a_kernel_that_cannot_keep_others_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    complaint = "RTNETLINK answers: Operation not supported"
    monkeypatch.setattr(checks, "impossible", lambda command: complaint if "ip rule" in command else "")
    monkeypatch.setattr(checks, "missing", lambda _: [])
    (found,) = [f for f in checks.machine(None) if f.what == "rules"]
    assert found.level == "error" and found.message.endswith(f"keep others out of the hosts' network: {complaint}")


LABELS = st.lists(st.binary(min_size=1, max_size=63), max_size=4)


@given(st.binary(min_size=2, max_size=2), LABELS, st.binary(max_size=40))
def test_every_name_is_refused_with_its_own_question(number: bytes, labels: list[bytes], more: bytes) -> None:
    question = b"".join(bytes([len(label)]) + label for label in labels) + b"\0\0\1\0\1"
    answer = refusal(number + b"\1\0\0\1\0\0\0\0\0\1" + question + more)  # more: an OPT record, mostly
    assert answer is not None
    assert answer[:2] == number
    assert answer[2] & 0x80 and answer[3] & 0xF == 3  # a response: no such name
    assert answer[4:] == b"\0\1\0\0\0\0\0\0" + question


@given(st.binary(max_size=60))
def test_no_bytes_confuse_the_name_server(query: bytes) -> None:
    answer = refusal(query)
    assert (answer is None) == (len(query) < 12 or query[2] >= 0x80)


@pytest.mark.root
@pytest.mark.parametrize("name", ["plain", "a blank", "größe"])
def test_what_a_user_has_mounted_in_a_folder_is_found_to_be_unmounted(tmp_path: Path, name: str) -> None:
    (tmp_path / "linked").symlink_to(tmp_path / name)
    for root in (tmp_path / name, tmp_path / "linked"):
        emulated = EmulatedHosts("3fa9c1", "198.18.4.0/24", str(root / "emulated-3fa9c1"), ("worker-1",))
        mounted = Path(emulated.hosts_folder, "look")
        mounted.mkdir(parents=True, exist_ok=True)
        run(["mount", "--bind", str(tmp_path), str(mounted)], check=True)
        try:
            assert emulated._mounts() == [str(mounted.resolve())]
        finally:
            run(["umount", "--lazy", str(mounted)], check=True)
