"""The Ansible modules of the roles, as programs: what they read, and what they would change."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
import yaml

from loadstone import plugins
from loadstone.infrastructure.machine_files import MachineNeeds
from loadstone.infrastructure.preparation import files, troubles
from loadstone.infrastructure.preparation.playing import PLAYBOOKS
from loadstone.infrastructure.software.kubernetes import KUBELET_PORT
from loadstone.infrastructure.software.kubernetes.managers import PEERS_PORT
from loadstone.infrastructure.software.kubernetes.plan import API_PORT, DNS_READY_PORT, PODS
from loadstone.infrastructure.software.nomad.settings import PORTS
from loadstone.infrastructure.software.swarm import joining
from loadstone.model.cluster import Cluster
from loadstone.model.document import Document
from loadstone.orchestration.ports import BASE_PORT


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module, with the record that Ansible would put beside it."""
    for each, file in (
        ("ansible.module_utils.loadstone_record", "module_utils/loadstone_record"),
        (name, f"library/{name}"),
    ):
        spec = importlib.util.spec_from_file_location(each, PLAYBOOKS / f"{file}.py")
        assert spec is not None and spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, each, loaded)
        if each.startswith("ansible."):
            import ansible.module_utils

            monkeypatch.setattr(ansible.module_utils, "loadstone_record", loaded, raising=False)
        spec.loader.exec_module(loaded)
    return loaded


def test_lines_of_swap_become_marked_comments_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    swap = module("loadstone_swap", monkeypatch)
    table = "# /dev/x none swap\nUUID=1 / ext4 defaults 0 1\n/dev/sda2\tnone\tswap\tsw 0 0\n/swap none swap sw 0 0\n"
    off = swap.without_swap(table)
    assert [line for line in off.splitlines() if "loadstone" in line] == [
        "# loadstone: /dev/sda2\tnone\tswap\tsw 0 0",
        "# loadstone: /swap none swap sw 0 0",
    ]
    assert swap.without_swap(off) == off and swap.with_swap(off) == table


class Swapping:
    """Ansible's module, with what it runs."""

    check_mode = False
    ran: ClassVar[list[str]] = []
    state: ClassVar[str] = "off"

    def __init__(self, *_: object, **__: object) -> None:
        self.params = {"state": self.state}

    def run_command(self, command: list[str], **_: object) -> None:
        self.ran.append(" ".join(command))

    def exit_json(self, **_: object) -> None:
        pass


def test_swap_comes_back_in_its_order_and_with_its_priorities(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    swap = module("loadstone_swap", monkeypatch)
    record: Any = sys.modules["ansible.module_utils.loadstone_record"]
    monkeypatch.setattr(record, "FILE", str(tmp_path / "record.json"))
    for name, file in (("SWAPS", tmp_path / "swaps"), ("TABLE", tmp_path / "fstab")):
        monkeypatch.setattr(swap, name, str(file))
    monkeypatch.setattr(swap, "AnsibleModule", Swapping)
    monkeypatch.setattr(Swapping, "ran", [])
    head = "Filename\t\t\tType\t\tSize\tUsed\tPriority\n"
    there = "/a\\040b             file\t1\t0\t-3\n/dev/sda2  partition\t1\t0\t-2\n/dev/zram0 partition\t1\t0\t100\n"
    (tmp_path / "swaps").write_text(head + there)
    swap.main()
    (tmp_path / "swaps").write_text(head)
    monkeypatch.setattr(Swapping, "state", "restored")
    swap.main()
    assert Swapping.ran[3:] == ["swapon -p 100 /dev/zram0", "swapon /dev/sda2", "swapon /a b"]
    assert sorted(Swapping.ran[:3]) == ["swapoff /a b", "swapoff /dev/sda2", "swapoff /dev/zram0"]
    assert record.read("swap") is None


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_table_keeps_its_readers_and_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int) -> None:
    swap = module("loadstone_swap", monkeypatch)
    table = tmp_path / "fstab"
    table.write_bytes(b"# f\374r Daten\n//nas/data /data cifs password=secret 0 0\n/swap none swap sw 0 0\n")
    table.chmod(mode)
    monkeypatch.setattr(swap, "TABLE", str(table))
    swap.write(swap.without_swap(swap.table()))
    assert table.stat().st_mode & 0o777 == mode
    assert table.read_bytes().startswith(b"# f\374r Daten\n//nas") and b"\n# loadstone: /swap" in table.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["fstab"]


def test_the_record_is_gone_with_its_last_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module("loadstone_swap", monkeypatch)
    record: Any = sys.modules["ansible.module_utils.loadstone_record"]
    monkeypatch.setattr(record, "FILE", str(tmp_path / "below/record.json"))
    record.write("swap", ["/swap"])
    record.write("firewall", ["allow"])
    assert (record.read("swap"), record.read("packages")) == (["/swap"], None)
    record.write("swap", None)
    record.write("firewall", [])
    assert list((tmp_path / "below").iterdir()) == []


class Apt:
    """Ansible's module on a host where every package of the record is there, and apt succeeds."""

    check_mode = False
    params: ClassVar[dict[str, Any]] = {"names": [], "serving": [], "state": "restored"}

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def run_command(self, command: list[str], **_: object) -> tuple[int, str, str]:
        return 0, "installed chrony\n" if command[0] == "dpkg-query" else "", ""

    def exit_json(self, **_: object) -> None:
        pass


@pytest.mark.parametrize(("left", "stays"), [("#!/bin/sh\n{mark}exit 101\n", False), ("#!/bin/sh\nexit 0\n", True)])
def test_undo_lets_services_start_again_after_an_installation_that_was_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: str, stays: bool
) -> None:
    packages = module("loadstone_packages", monkeypatch)
    record: Any = sys.modules["ansible.module_utils.loadstone_record"]
    monkeypatch.setattr(record, "FILE", str(tmp_path / "record.json"))
    record.write("packages", {"installed": ["chrony"], "removed": {}, "settings": []})
    policy = tmp_path / "policy-rc.d"
    policy.write_text(left.format(mark=packages.MARK))
    monkeypatch.setattr(packages, "POLICY", str(policy))
    monkeypatch.setattr(packages, "AnsibleModule", Apt)
    packages.main()
    assert record.read("packages") is None and policy.exists() == stays


def test_rules_are_as_each_firewall_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    firewall = module("loadstone_firewall", monkeypatch)
    ufw = firewall.rule("ufw", "10.0.0.2", "20000:32767/tcp")
    assert ufw == "allow from 10.0.0.2 to any port 20000:32767 proto tcp" and not ufw.startswith(firewall.RICH)
    rich = firewall.rule("firewalld", "10.0.0.2", "20000:32767/tcp")
    to = 'port port="20000-32767" protocol="tcp"'
    assert rich == f'{firewall.RICH}family="ipv4" source address="10.0.0.2" {to} accept'


def run_clock(folder: Path, tracking: str, bound_us: float) -> dict[str, Any]:
    """The module's answer where chrony prints that."""
    (folder / "chronyc").write_text(f"#!/bin/sh\necho '{tracking}'\n")
    (folder / "chronyc").chmod(0o755)
    arguments = {"ANSIBLE_MODULE_ARGS": {"bound_us": bound_us, "within_s": 0.1, "_ansible_remote_tmp": str(folder)}}
    done = subprocess.run(
        [sys.executable, PLAYBOOKS / "library/loadstone_clock.py"],
        input=json.dumps(arguments),
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


FOLLOWS = "C6120002,10.0.0.1,11,1795.5,{now},0.000002,0.000004,7.3,0.0,39.0,0.00002,0.00009,0.5,{leap}"


@pytest.mark.parametrize(
    ("now", "leap", "bound_us", "expected"),
    [
        ("-0.000012", "Normal", 80, {"source": "10.0.0.1", "offset_us": 12.0}),
        ("-0.000112", "Normal", 80, "its clock is not within 80 us after 0.1 s: it is 112 us from 10.0.0.1"),
        ("0.0", "Not synchronised", 80, "its clock is not within 80 us after 0.1 s: it is not synchronised yet"),
    ],
)
def test_a_clock_is_held_to_its_bound(tmp_path: Path, now: str, leap: str, bound_us: float, expected: Any) -> None:
    answer = run_clock(tmp_path, FOLLOWS.format(now=now, leap=leap), bound_us)
    assert (answer["msg"] if isinstance(expected, str) else answer["clock"]) == expected
    assert answer.get("failed", False) == isinstance(expected, str)


LISTENING = {
    "process": (BASE_PORT,),
    "docker": (BASE_PORT,),
    "swarm": (joining.PORT, BASE_PORT),
    "nomad": (*PORTS, BASE_PORT),
    "kubernetes": (API_PORT, PEERS_PORT, KUBELET_PORT, DNS_READY_PORT, BASE_PORT),
}
"""Ports that hosts listen on for each other, as the code that starts them has them."""


def test_roles_install_and_open_what_software_needs() -> None:
    packages = Document.read(PLAYBOOKS / "roles/packages/defaults/main.yaml").data["packages_of"]
    firewall = Document.read(PLAYBOOKS / "roles/firewall/defaults/main.yaml").data
    opened, (pods,) = firewall["ports_of"], firewall["pods"]["kubernetes"]
    assert (pods["network"], pods["ports"]) == (str(PODS), ["53/udp", "53/tcp"])
    assert set(packages) == set(opened) == set(plugins.names("software"))
    for name in plugins.names("software"):
        assert set(packages[name]) >= set(plugins.find("software", name).tools.values()), name
    for name, ports in LISTENING.items():
        spans = [entry.partition("/")[0].split(":") for entry in opened[name]]
        assert [port for port in ports if not any(int(span[0]) <= port <= int(span[-1]) for span in spans)] == [], name


def test_an_inventory_of_a_study_opens_where_its_requests_enter() -> None:
    needs = MachineNeeds("study", Cluster(), ("swarm",), managers=1, workers=1, entry_ports=(5000, 8080))
    variables = yaml.safe_load(files.render(needs)["inventory.yaml"])["all"]["vars"]
    assert (variables["prepare_for"], variables["entry_ports"]) == (["swarm"], ["5000/tcp", "8080/tcp"])


@pytest.mark.parametrize(
    ("result", "message", "remedy"),
    [
        (
            {"unreachable": True, "msg": "ssh: connect to host h port 22: No route to host"},
            "it cannot be reached",
            "is up",
        ),
        ({"msg": "Missing sudo password"}, "the login may not become it", "--ask-password"),
        ({"msg": "Incorrect sudo password"}, "sudo refuses the password", "by which the login may use sudo"),
        (
            {
                "failed_modules": {"setup": {"module_stderr": "/bin/sh: 1: /usr/bin/python3: not found"}},
                "msg": "failed",
            },
            "it has no Python",
            "apt-get install python3",
        ),
        ({"msg": "it runs Fedora 40; Debian or Ubuntu is needed"}, "Fedora 40", "use hosts of these"),
        ({"msg": "disk full"}, "node-1: disk full", ""),
    ],
)
def test_what_ansible_reports_is_a_message_with_the_host_and_a_remedy(
    result: dict[str, Any], message: str, remedy: str
) -> None:
    found = troubles.explain("node-1", "192.0.2.1", result)
    assert found.message.startswith("node-1: ") and message in found.message and remedy in found.remedy
