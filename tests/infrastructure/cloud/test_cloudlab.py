"""CloudLab's two files: the request that is rendered, and the manifest that is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from loadstone.infrastructure.cloud.cloudlab import CloudLab, request
from loadstone.infrastructure.cloud.cloudlab.manifest import NAMESPACE
from loadstone.infrastructure.machine_files import MachineNeeds
from loadstone.model.cluster import Cluster
from loadstone.model.errors import InputError
from loadstone.model.instances import Instances

CHILDREN = {
    "rspec": {"node", "link"},
    "node": {"sliver_type", "hardware_type", "interface"},
    "sliver_type": {"disk_image"},
    "interface": {"ip"},
    "link": {"interface_ref", "link_type"},
}
"""The children of each element of the published schema (RSpec version 3, request) that a request of ours may have."""
ATTRIBUTES = {
    "rspec": {"type", "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"},
    "node": {"client_id", "exclusive"},
    "sliver_type": {"name"},
    "disk_image": {"name"},
    "hardware_type": {"name"},
    "interface": {"client_id"},
    "ip": {"address", "netmask", "type"},
    "link": {"client_id"},
    "interface_ref": {"client_id"},
    "link_type": {"name"},
}
NODE = """
  <node client_id="{name}" exclusive="true" component_id="urn:publicid:IDN+utah.cloudlab.us+node+ms09" sliver_id="x">
    <sliver_type name="raw-pc"/>
    <interface client_id="{name}:if1"><ip address="10.10.0.{number}" netmask="255.255.0.0" type="ipv4"/></interface>
    <services>
      <login authentication="ssh-keys" hostname="ms09{number}.utah.cloudlab.us" port="22" username="bob"/>
      <login authentication="ssh-keys" hostname="ms09{number}.utah.cloudlab.us" port="{port}" username="ada"/>
    </services>
    <emulab:vnode xmlns:emulab="http://www.protogeni.net/resources/rspec/ext/emulab/1" name="ms09{number}"/>
  </node>"""


def manifest(*nodes: str, expires: str = "", kind: str = "manifest") -> str:
    inside = "".join(nodes)
    return f'<?xml version="1.0"?>\n<rspec xmlns="{NAMESPACE}" type="{kind}" {expires}>{inside}</rspec>'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "manifest.xml"


def cluster(file: Path, **settings: object) -> Cluster:
    return Cluster.model_validate({"infrastructure": "cloudlab", "inventory": str(file), **settings})


def test_the_request_has_only_what_the_schema_has_and_every_machine_is_joined() -> None:
    wanted = Cluster(instances=Instances(type="xl170", image='urn:with"quote&'))
    needs = MachineNeeds("study", wanted, ("swarm",), managers=1, workers=2)
    root = ElementTree.fromstring(request.render(needs)["request.rspec"])
    for element in root.iter():
        tag = element.tag.removeprefix(f"{{{NAMESPACE}}}")
        assert element.tag.startswith(f"{{{NAMESPACE}}}") and set(element.attrib) <= ATTRIBUTES[tag], tag
        children = {child.tag.removeprefix(f"{{{NAMESPACE}}}") for child in element}
        assert children <= CHILDREN.get(tag, set()), tag
    find = {"": NAMESPACE}
    names = [str(node.get("client_id")) for node in root.findall("node", find)]
    assert root.get("type") == "request" and sorted(names) == ["client-1", "manager-1", "worker-1", "worker-2"]
    ends = {str(each.get("client_id")) for each in root.findall("node/interface", find)}
    assert ends == {str(each.get("client_id")) for each in root.findall("link/interface_ref", find)}
    assert len({str(each.get("address")) for each in root.findall("node/interface/ip", find)}) == 4
    image = root.find("node/sliver_type/disk_image", find)
    assert image is not None and image.get("name") == 'urn:with"quote&'


def test_a_manifest_becomes_the_inventory_of_hosts(file: Path) -> None:
    nodes = [NODE.format(name=name, number=number, port=22) for number, name in enumerate(("client-1", "worker-1"), 1)]
    file.write_text(manifest(*nodes, NODE.format(name="node0", number=3, port=2222)))
    found = CloudLab(cluster(file, instances={"login": "ada"}), "study-cluster")._inventory
    assert [(name, host.login, host.address, host.roles) for name, host in found.hosts.items()] == [
        ("client-1", "ada@ms091.utah.cloudlab.us", "10.10.0.1", ["client"]),
        ("worker-1", "ada@ms092.utah.cloudlab.us", "10.10.0.2", ["worker"]),
        ("node0", "ssh://ada@ms093.utah.cloudlab.us:2222", "10.10.0.3", ["worker"]),
    ]


def test_the_time_until_an_experiment_ends_is_known(file: Path) -> None:
    ends = datetime.now(UTC) + timedelta(hours=2)
    file.write_text(manifest(NODE.format(name="a", number=1, port=22), expires=f'expires="{ends:%Y-%m-%dT%H:%M:%SZ}"'))
    terms = CloudLab(cluster(file), "study-cluster").terms(0)
    assert terms is not None and terms.held_s == pytest.approx(7200, abs=60)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (manifest(NODE.format(name="a", number=1, port=22), kind="request"), "not a manifest but 'request'"),
        ("<rspec", "not XML"),
        (manifest(), "has no nodes"),
        (f'<!DOCTYPE x [<!ENTITY a "b">]>{manifest()}', "declares entities"),
        (manifest('<node client_id="a"/>'), "a has no interface"),
        (manifest('<node client_id="a"><interface><ip address="10.0.0.1"/></interface></node>'), "a has no login"),
        (manifest(NODE.format(name="a", number=1, port=22), expires='expires="soon"'), "'soon' is no time"),
    ],
)
def test_what_is_no_manifest_is_named(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        CloudLab(cluster(file), "study-cluster")


def test_a_login_that_the_project_does_not_have_is_named(file: Path) -> None:
    file.write_text(manifest(NODE.format(name="a", number=1, port=22)))
    with pytest.raises(InputError, match="no login 'eve', but bob, ada"):
        CloudLab(cluster(file, instances={"login": "eve"}), "study-cluster")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('port="22"', 'port="ssh"', "client-1 has a login at port 'ssh', which is no number"),
        ('address="10.10.0.1"', 'address="node.lab"', "client-1: 'node.lab' cannot be used; use an IPv4 address"),
        ('client_id="client-1"', 'client_id="a b"', "a b: 'a b' cannot be used; use letters, digits"),
    ],
)
def test_a_manifest_with_what_no_host_can_have_is_refused(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(manifest(NODE.format(name="client-1", number=1, port=22).replace(old, new)))
    with pytest.raises(InputError) as refused:
        CloudLab(cluster(file), "study-cluster")
    assert str(refused.value).startswith(f"{file}: {message}")
