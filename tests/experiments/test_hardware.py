"""What machines of a cluster are, and a warning where they differ."""

from __future__ import annotations

from loadstone.experiments import hardware
from loadstone.model.cluster import Node, Role


def node(name: str, role: Role) -> Node:
    return Node(name=name, role=role, address="192.0.2.1", cpus=(0,), memory=2**30)


NODES = [node("m", "manager"), node("a", "worker"), node("b", "worker"), node("c", "worker")]


def test_equal_workers_are_no_warning_whatever_the_manager_is() -> None:
    same = {"processor": "X", "microcode": "0x1"}
    assert hardware.differences(NODES, {"m": {"processor": "Y"}, "a": same, "b": same, "c": same}) == []


def test_each_part_in_which_workers_differ_is_a_warning_with_their_names() -> None:
    found = hardware.differences(
        NODES,
        {
            "a": {"processor": "X", "microcode": "0x1"},
            "b": {"processor": "X", "microcode": "0x2"},
            "c": {"processor": "X"},
        },
    )
    assert [(finding.level, finding.message) for finding in found] == [
        ("warning", "machines of role worker differ in microcode: 0x1: a; 0x2: b; unknown: c")
    ]


def test_machines_that_are_not_reached_by_ssh_are_not_read() -> None:
    assert hardware.of_hosts(NODES) == {}
