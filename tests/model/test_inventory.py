"""Inventories of hosts as people write them."""

from __future__ import annotations

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
