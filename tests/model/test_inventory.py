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


def test_a_client_elsewhere_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"hosts.yaml:3: .*'client' .*the client.* is the machine that starts a study"):
        Document(HOSTS.replace("ROLE", "client"), "hosts.yaml").parse(Inventory)
