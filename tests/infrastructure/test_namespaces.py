"""What emulated hosts are called and how their links are shaped: nothing is made here."""

from __future__ import annotations

import itertools
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.infrastructure.namespaces.emulated import Emulated
from loadstone.infrastructure.namespaces.network import RESERVED, shaping, subnet_for
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


def test_no_subnet_left_is_said() -> None:
    with pytest.raises(PreflightError, match=r"no subnet for 5 hosts is free in 198\.18\.0\.0/15\n.*loadstone down"):
        subnet_for(5, RESERVED.subnets(new_prefix=24))


@given(st.integers(0, 9), st.integers(1, 1000))
def test_every_host_has_names_and_addresses_of_its_own(managers: int, workers: int) -> None:
    names = [f"manager-{n + 1}" for n in range(managers)] + [f"worker-{n + 1}" for n in range(workers)]
    emulated = Emulated("3fa9c1", str(subnet_for(len(names), [])), "/data/emulated-3fa9c1", tuple(names))
    hosts, network = emulated.hosts, emulated.network
    for kind in ("name", "address", "namespace", "folder", "group"):
        assert len({getattr(host, kind) for host in hosts}) == len(names)
    assert network.client not in {host.address for host in hosts}
    assert all(len(name) <= 15 for name in (*names, network.interface))  # what the kernel takes
    assert Emulated.of(emulated.as_data()) == emulated


def test_names_tell_whose_they_are() -> None:
    emulated = Emulated("3fa9c1", "198.18.4.0/24", "/data/emulated-3fa9c1", ("manager-1", "worker-1"))
    worker = emulated.hosts[1]
    assert emulated.network.client == "198.18.4.1"
    assert worker.address == "198.18.4.3"
    assert worker.namespace == "/run/netns/emulated-3fa9c1-worker-1"
    assert worker.folder == Path("/data/emulated-3fa9c1/worker-1")
    assert worker.daemons == "loadstone/emulated-3fa9c1/worker-1/daemons"
    assert worker.containers == "loadstone/emulated-3fa9c1/worker-1/containers"


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
    words = shaping("eth0", rate, None)[0].split()
    burst = dict(itertools.pairwise(words))["burst"]
    assert int(burst.removesuffix("b")) >= 10 * 1500
