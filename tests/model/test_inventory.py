"""Inventories of hosts as people write them."""

from __future__ import annotations

import json

import pytest

from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.inventory import Inventory

HOSTS = """\
hosts:
  node-1: {address: 10.0.0.1}
  desk: {address: 10.0.0.9, roles: [ROLE]}
"""


def test_roles_are_a_list_and_workers_where_left_out() -> None:
    hosts = Document(HOSTS.replace("ROLE", "manager"), "hosts.yaml").parse(Inventory).hosts
    assert {name: host.roles for name, host in hosts.items()} == {"node-1": ["worker"], "desk": ["manager"]}


def test_an_unknown_role_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"hosts.yaml:3: .*'boss' .*manager, worker or client"):
        Document(HOSTS.replace("ROLE", "boss"), "hosts.yaml").parse(Inventory)


@pytest.mark.parametrize("name", ["a b", "worker[1:3]", "../up", "a/b", "", "a\nb", "{{x}}", "$(x)", "-a", "a:22"])
def test_a_name_that_hosts_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"hosts\.yaml:2: hosts\.(.|\n)* cannot be used; use letters, digits"):
        Document(f"hosts:\n  {json.dumps(name)}: {{address: 10.0.0.1}}\n", "hosts.yaml").parse(Inventory)


@pytest.mark.parametrize("name", ["node_1", "ms0913.utah.cloudlab.us", "root@10.0.0.7", "n", "größe"])
def test_names_of_hosts_and_of_ssh_s_configuration_are_taken(name: str) -> None:
    assert list(Document(f"hosts:\n  {name}: {{address: 10.0.0.1}}\n", "hosts.yaml").parse(Inventory).hosts) == [name]


@pytest.mark.parametrize("address", ["999.0.0.1", "10.0.0.256", "10.0.0.01", "\u0661\u0660.0.0.7", "::1"])
def test_what_is_no_ipv4_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="use an IPv4 address"):
        Document(f"hosts:\n  a: {{address: '{address}'}}\n", "hosts.yaml").parse(Inventory)


def test_a_machine_that_is_listed_twice_is_refused() -> None:
    twice = "hosts:\n  a: {address: 10.0.0.1, roles: [manager]}\n  b: {address: 10.0.0.1}\n"
    with pytest.raises(
        InputError, match=r"hosts\.yaml:3: hosts\.b: 10\.0\.0\.1 is the address of a; list each machine once"
    ):
        Document(twice, "hosts.yaml").parse(Inventory)


def test_no_worker_has_the_name_of_the_machine_that_generates_the_load() -> None:
    text = "hosts:\n  client: {address: 10.0.0.1}\n"
    with pytest.raises(
        InputError, match=r"hosts\.yaml:2: hosts\.client: the machine that starts the study .* choose an"
    ):
        Document(text, "hosts.yaml").parse(Inventory)
    generates = f"{text}  load: {{address: 10.0.0.2, roles: [client]}}\n"
    assert list(Document(generates, "hosts.yaml").parse(Inventory).hosts) == ["client", "load"]
