"""Machines of an imitated OpenStack cloud by the official client: what is requested, and each of its errors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from loadstone.infrastructure import journal
from loadstone.infrastructure.cloud import held, login, pauses, preparing
from loadstone.infrastructure.cloud.chameleon import Chameleon
from loadstone.infrastructure.cloud.chameleon.service import OpenStack
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError, LoadstoneError, PreflightError
from loadstone.model.instances import Instances
from tests.support.openstack_cloud import PASSWORD, Fault, OpenStackCloud, in_turn, openstack_cloud

pytestmark = pytest.mark.servers

KEY = "ssh-ed25519 AAAA test"


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenStackCloud]:
    with openstack_cloud() as made:
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(made.clouds_yaml(tmp_path)))
        monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
        for pause in ("_FIRST_S", "_LONGEST_S"):
            monkeypatch.setattr(pauses, pause, 0.01)
        yield made


def machines(tmp_path: Path, kind: str = "m1.small", token: str = "loadstone-a") -> OpenStack:
    return OpenStack(Instances(site="chi", type=kind), token, tmp_path)


def made(provider: OpenStack, *names: str) -> list[str]:
    found = provider.make(names, KEY, datetime.now(UTC) + timedelta(hours=1), lambda _text: None)
    return [each.name for each in found]


def infrastructure(**different: str) -> Chameleon:
    instances = Instances.model_validate({"site": "chi", "type": "m1.small", **different})
    return Chameleon(Cluster(infrastructure="chameleon", workers=2, instances=instances), "study-cluster")


def test_servers_of_a_flavour_are_made_once_and_removed(cloud: OpenStackCloud, tmp_path: Path) -> None:
    provider = machines(tmp_path)
    assert made(provider, "worker-1", "worker-2") == ["worker-1", "worker-2"]
    assert made(provider, "worker-1", "worker-2", "worker-3") == ["worker-1", "worker-2", "worker-3"]
    assert len(cloud.servers) == 3 and len(cloud.addresses) == 1 and cloud.leases == {}
    provider.remove()
    assert cloud.held() == []
    provider.remove()


def test_only_ssh_is_open_to_others(cloud: OpenStackCloud, tmp_path: Path) -> None:
    made(machines(tmp_path), "worker-1")
    ((group_id, group),) = cloud.groups.items()
    rules = [
        (rule.get("protocol"), rule["port_range_min"], rule.get("port_range_max"), rule["remote_group_id"])
        for rule in group["security_group_rules"]
    ]
    assert rules == [("tcp", 22, 22, None), (None, None, None, group_id)]


def test_bare_metal_is_leased_for_the_time_that_it_is_held(cloud: OpenStackCloud, tmp_path: Path) -> None:
    provider = machines(tmp_path, "compute_cascadelake_r")
    assert provider.price() == (1.0, "SU") and provider.size() == (96, 196608 * 2**20)
    made(provider, "worker-1", "worker-2")
    (lease,) = cloud.leases.values()
    end = datetime.strptime(lease["end_date"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    assert lease["count"] == 2 and timedelta(minutes=55) < end - datetime.now(UTC) <= timedelta(hours=1)
    assert {each["reservation"] for each in cloud.servers.values()} == {lease["reservations"][0]["id"]}
    provider.remove()
    assert cloud.held() == []


def test_another_deployments_machines_stay(cloud: OpenStackCloud, tmp_path: Path) -> None:
    mine, theirs = machines(tmp_path), machines(tmp_path, token="loadstone-a-2")
    made(mine, "worker-1"), made(theirs, "worker-1")
    before = {name for name in cloud.held() if name.startswith("loadstone-a-2")}
    mine.remove()
    assert set(cloud.held()) == before and len(cloud.servers) == len(cloud.addresses) == 1


@pytest.mark.parametrize(
    ("what", "message", "remedy"),
    [
        ("password", "the credentials are refused, or have expired", "openstack token issue"),
        ("project", "the credentials are refused, or have expired", "openstack token issue"),
        ("no such cloud", "no usable credentials", "clouds.yaml"),
        ("type", "no flavour or node type 'm1.huge'", "instances.type"),
        ("image", "no image 'Windows'", "openstack image list"),
        ("network", "no network 'nowhere'", "instances.network"),
        ("quota", "3 instances are needed, the project has 1 left", "larger quota"),
        ("addresses", "a floating address is needed", "openstack floating ip list"),
        ("down", "the cloud has failed", "status page"),
    ],
)
def test_what_stands_in_the_way_is_one_finding_with_a_remedy(
    cloud: OpenStackCloud, tmp_path: Path, what: str, message: str, remedy: str
) -> None:
    different: dict[str, str] = {}
    match what:
        case "password":
            cloud.clouds_yaml(tmp_path, password=f"{PASSWORD}-old")
        case "project":
            cloud.project = "another"
        case "no such cloud":
            different = {"site": "chi-nowhere"}
        case "type":
            different = {"type": "m1.huge"}
        case "image":
            different = {"image": "Windows"}
        case "network":
            different = {"network": "nowhere"}
        case "quota":
            cloud.instances = 1
        case "addresses":
            cloud.floating = 0
        case "down":
            cloud.faults = [Fault("POST", "/auth/tokens", 500, "An unexpected error prevented the server")]
    infra = infrastructure(**different)
    (found,) = infra.preflight("process", 0)
    assert found.level == "error" and message in found.message and remedy in found.remedy, found
    assert PASSWORD not in found.message + found.remedy
    assert cloud.held() == [] and journal.entries() == []


@pytest.mark.parametrize(
    ("fault", "message", "remedy"),
    [
        (Fault("POST", "/leases", 400, "Not enough hosts available"), "Not enough hosts", "calendar of leases"),
        (Fault("POST", "/servers", 403, "Quota exceeded for cores", after=1), "Quota exceeded", "larger quota"),
        (Fault("POST", "/servers", 500, "Unexpected API Error.", after=1), "the cloud has failed", "try again"),
        (Fault("GET", "/servers/detail", 500, "Unexpected API Error.", after=2), "the cloud has failed", "try again"),
        (Fault("POST", "/security-groups", 403, "not allowed by policy"), "may not do that", "right project"),
        (Fault("POST", "/floatingips", 409, "Quota exceeded for resources"), "Quota exceeded", "larger quota"),
    ],
)
def test_a_failure_midway_is_one_message_and_leaves_nothing(
    cloud: OpenStackCloud, tmp_path: Path, fault: Fault, message: str, remedy: str
) -> None:
    fault.times = 5
    cloud.faults = [fault]
    infra = infrastructure(type="compute_cascadelake_r")
    with pytest.raises(LoadstoneError) as raised:
        infra.acquire("process", 0, lambda _text: None)
    assert raised.value.exit_code == 3 and message in str(raised.value) and remedy in str(raised.value)
    assert PASSWORD not in str(raised.value)
    assert cloud.held() == [] and journal.entries() == []


def test_servers_without_a_host_name_the_calendar(cloud: OpenStackCloud) -> None:
    cloud.broken = "No valid host was found. There are not enough hosts available."
    with pytest.raises(PreflightError, match=r"No valid host.*\n.*calendar"):
        infrastructure().acquire("process", 0, lambda _text: None)
    assert cloud.held() == [] and journal.entries() == []


def test_errors_of_the_cloud_while_servers_are_built_are_waited_out(cloud: OpenStackCloud, tmp_path: Path) -> None:
    cloud.faults = [Fault("GET", "/servers/detail", 500, "Unexpected API Error.", times=3, after=1)]
    assert made(machines(tmp_path), "worker-1") == ["worker-1"]


def test_a_machine_that_never_answers_is_named_and_given_back(
    cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.boots = in_turn("127.0.0", 77)
    monkeypatch.setattr("loadstone.infrastructure.cloud._BOOT_S", 0.0)
    with pytest.raises(DeploymentError, match=r"machines never answered: client-1: .*\n.*console"):
        infrastructure().acquire("process", 0, lambda _text: None)
    assert cloud.held() == [] and journal.entries() == []


def test_credentials_that_expire_before_the_end_keep_the_entry_until_they_are_good(
    cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expire(*_: object) -> None:
        cloud.valid = False

    monkeypatch.setattr(login, "wait_until_reached", expire)
    monkeypatch.setattr(preparing, "prepare", lambda *_: [])
    infra = infrastructure()
    with pytest.raises(DeploymentError) as raised:
        infra.acquire("process", 0, lambda _text: None)
    assert "loadstone down study-machines" in str(raised.value) and "expired" in str(raised.value)
    assert list(held.listed()) == ["study-machines"] and len(cloud.servers) == 3
    cloud.valid = True
    assert "3 machines of project loadstone-test" in journal.remove_all(["study-machines"])[0]
    assert cloud.held() == [] and journal.entries() == []


def test_credentials_of_another_project_give_nothing_back(
    cloud: OpenStackCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "wait_until_reached", lambda *_: None)
    monkeypatch.setattr(preparing, "prepare", lambda *_: [])
    monkeypatch.setattr("loadstone.infrastructure.hosts.Hosts.preflight", lambda *_: [])
    infrastructure().acquire("process", 0, lambda _text: None)
    cloud.project = "another"
    cloud.clouds_yaml(tmp_path)
    with pytest.raises(DeploymentError, match=r"are in project loadstone-test .* those of project another"):
        journal.remove_all(None)
    assert len(cloud.servers) == 3 and "study-machines" in held.listed()


def test_twenty_machines_are_leased_at_once_and_removed(cloud: OpenStackCloud, tmp_path: Path) -> None:
    cloud.instances, cloud.free_hosts = 20, 20
    provider = machines(tmp_path, "compute_cascadelake_r")
    names = [f"worker-{number + 1}" for number in range(20)]
    assert made(provider, *names) == names and len(cloud.leases) == len(cloud.addresses) == 1
    provider.remove()
    assert cloud.held() == []
