"""Swarm's stack, and what is made of its answers; without a swarm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadstone.infrastructure.base import Access
from loadstone.model.application import Resources
from loadstone.model.cluster import Reach
from loadstone.model.deployment import Deployment
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL
from loadstone.orchestration.docker import errors, fit
from loadstone.orchestration.swarm import Swarm
from loadstone.orchestration.swarm import tasks as swarm_tasks
from tests.orchestration.docker_deployments import SCALINGS, accepted, foreign, hotel, tree, written
from tests.orchestration.pinned import compare_scaling

FILE = "stack.yaml"


def services(deployment: Deployment) -> dict[str, Any]:
    return dict(tree(Swarm(deployment, Path("/nowhere")).render(), FILE)["services"])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_golden(scaling: str, tmp_path: Path) -> None:
    deployment = hotel(
        scaling=scaling, placement={"tiers": {"frontend": ["worker-1"], "storage": ["worker-2", "worker-3"]}}
    )
    files = Swarm(deployment, Path("/nowhere")).render()
    compare_scaling("swarm", scaling, files)
    accepted(written(tmp_path, files), FILE)


@given(st.sampled_from(SCALINGS), st.sampled_from(["default", "paper"]), st.integers(1, 500), st.integers(6, 4096))
def test_every_limit_and_every_replica_is_in_the_file(scaling: str, profile: str, hundredths: int, mib: int) -> None:
    given_ = {"geo": Resources(cpu=hundredths / 100, memory=mib * 2**20 + 7)}
    deployment = hotel(resources=given_, scaling=scaling, profile=profile)
    written = services(deployment)
    assert list(written) == list(deployment.services())
    for name, replicas in deployment.services().items():
        deploy = written[name]["deploy"]
        limits = deploy.get("resources", {}).get("limits", {})
        wanted = replicas[0].resources
        assert deploy["replicas"] == len(replicas)
        assert (float(limits["cpus"]) if "cpus" in limits else None) == (wanted.cpu and round(wanted.cpu, 5))
        assert (bytes_of(limits["memory"]) if "memory" in limits else None) == wanted.memory
        assert "reservations" not in deploy.get("resources", {})
        assert (deploy["endpoint_mode"], deploy["restart_policy"]["condition"]) == ("dnsrr", "any")
        assert deploy["labels"] == written[name]["labels"] == {LABEL: "hotel", SERVICE_LABEL: name}


def bytes_of(text: str) -> int:
    return int(text[:-1]) * {"M": 2**20, "b": 1}[text[-1]]


def test_needs_are_services_of_the_stack_at_the_ports_where_they_listen() -> None:
    deployment = hotel()
    written = services(deployment)
    for name, (replica, *_) in deployment.services().items():
        variables = written[name].get("environment", {})
        urls = [value for key, value in variables.items() if key.startswith(("STONE_NEED_", "STONE_DOCUMENTS"))]
        reached = [url.removeprefix("postgres://postgres@").partition("/")[0].partition(":") for url in urls]
        assert sorted(host for host, _, _ in reached) == sorted(replica.needs)
        for host, _, port in reached:
            there = deployment.of(host)[0]
            assert int(port) == there.ports[there.main_port]
            assert there.stone is None or written[host]["environment"]["STONE_LISTEN"] == f"0.0.0.0:{port}"


def test_only_what_the_client_reaches_is_published() -> None:
    def ports(scaling: str) -> dict[str, Any]:
        return {
            name: service["ports"] for name, service in services(hotel(scaling=scaling)).items() if "ports" in service
        }

    assert ports("baseline") == {"frontend": [{"target": 5000, "published": 5000, "mode": "host"}]}, "no store"
    assert ports("horizontal")["frontend"] == [{"target": 5000, "mode": "host"}]  # two may share a node
    beside = services(hotel().model_copy(update={"beside": True}))
    assert beside["frontend"]["ports"] == [{"target": 5000, "mode": "host"}]  # the other may have the same


@pytest.mark.parametrize(
    ("allowed", "constraints"),
    [
        (None, []),
        (["worker-2"], ["node.hostname==worker-2"]),
        (["worker-1", "worker-3"], ["node.hostname!=worker-2"]),
        (["worker-1", "worker-2", "worker-3"], []),
    ],
)
def test_placement_rules_out_all_other_nodes(allowed: list[str] | None, constraints: list[str]) -> None:
    placement = None if allowed is None else {"services": {"geo": allowed}}
    written = services(hotel(placement=placement))
    assert written["geo"]["deploy"].get("placement", {}).get("constraints", []) == constraints
    assert "placement" not in written["rate"]["deploy"]


@pytest.mark.parametrize(
    ("allowed", "constraints"),
    [
        (None, ["node.hostname!=load-1"]),
        (["worker-1", "worker-3"], ["node.hostname!=load-1", "node.hostname!=worker-2"]),
        (["worker-2"], ["node.hostname==worker-2"]),
    ],
)
def test_nodes_that_generate_load_run_no_replicas(allowed: list[str] | None, constraints: list[str]) -> None:
    deployment = hotel(placement=None if allowed is None else {"services": {"geo": allowed}})
    client = deployment.nodes[0].model_copy(update={"name": "load-1", "reach": Reach(transport="ssh")})
    written = services(deployment.model_copy(update={"nodes": (client, *deployment.nodes[1:])}))
    assert written["geo"]["deploy"]["placement"]["constraints"] == constraints
    assert written["rate"]["deploy"]["placement"]["constraints"] == ["node.hostname!=load-1"]


def test_foreign_images_with_files_volumes_and_dollar_signs(tmp_path: Path) -> None:
    files = Swarm(foreign(), tmp_path).render()
    stack = tree(files, FILE)
    web = stack["services"]["web"]
    assert (web["entrypoint"], web["command"]) == (["/bin/web", "--name"], ["$$HOSTNAME"])
    assert web["environment"] == {"GREETING": "it costs $${PRICE} $$5"}
    assert web["volumes"] == [{"type": "volume", "target": "/data"}, {"type": "volume", "target": "/cache"}]
    mounted = {config["target"]: files[stack["configs"][config["source"]]["file"]] for config in web["configs"]}
    assert mounted == {"/etc/web/main.conf": "one $TWO\n", "/srv/main.conf": "x"}
    assert [port["target"] for port in web["ports"]] == [8080]  # where requests go, not where readiness is checked
    assert "healthcheck" not in web
    assert "ports" not in stack["services"]["job"]
    accepted(written(tmp_path, files), FILE)


@given(st.text('{}"-. x', max_size=12))
@example("{{ .Node.Hostname }}")
def test_braces_reach_a_replica_as_they_are(text: str) -> None:
    (web,) = foreign().of("web")
    changed = web.model_copy(update={"needs": (), "environment": {"TEXT": text}, "volumes": (f"/{text}",)})
    written = services(foreign().model_copy(update={"replicas": (changed,)}))["web"]
    for value, wanted in ((written["environment"]["TEXT"], text), (written["volumes"][0]["target"], f"/{text}")):
        actions = re.findall(r"\{\{.*?\}\}", value)
        assert set(actions) <= {'{{"{{"}}'}, "Swarm executes no other template than one that prints two braces"
        assert value.replace('{{"{{"}}', "{{") == wanted


def test_no_variable_of_the_shell_is_put_into_a_path(tmp_path: Path) -> None:
    (web,) = foreign().of("web")
    update = {"needs": (), "configs": {"/etc/$HOME.conf": "x\n"}, "volumes": ("/var/${PATH}",)}
    changed = web.model_copy(update=update)
    files = Swarm(foreign().model_copy(update={"replicas": (changed,)}), tmp_path).render()
    stack = tree(files, FILE)
    assert stack["services"]["web"]["configs"] == [{"source": "config-1", "target": "/etc/$$HOME.conf"}]
    assert stack["services"]["web"]["volumes"] == [{"type": "volume", "target": "/var/$${PATH}"}]
    assert stack["configs"]["config-1"]["file"].replace("$$", "$") in files
    accepted(written(tmp_path, files), FILE)


@given(st.text(min_size=1), st.integers(1, 63))
def test_names_that_swarm_does_not_take_are_refused(name: str, length: int) -> None:
    (web,) = foreign().of("web")
    service = "w" * length
    deployment = foreign().model_copy(
        update={"name": name, "replicas": (web.model_copy(update={"needs": (), "service": service}),)}
    )
    swarm = Swarm(deployment, Path("/nowhere"))
    refused = [finding for finding in swarm.preflight() if finding.what == service]
    assert bool(refused) == (len(f"{swarm._stack_name}_{service}") > 63)
    assert not refused or length > 55, "a stack's name is shortened where that will do"


def test_official_images_are_checked_with_their_own_tools_and_as_rarely() -> None:
    deployment = hotel()
    official = {name: software.container.image for name, software in deployment.software.items()}
    written = services(deployment.model_copy(update={"images": deployment.images | official}))
    assert written["documents-geo"]["image"] == "postgres:15"
    kind, line = written["documents-geo"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    assert "sleep 60" in line and "pg_isready -q -h 127.0.0.1 -U postgres &&" in line
    assert "'exec 3<>/dev/tcp/127.0.0.1/11211'" in written["memcached-rate"]["healthcheck"]["test"][1]
    assert written["geo"]["healthcheck"]["test"][:3] == ["CMD", "/stone", "ready"]


def test_what_swarm_cannot_do_is_not_promised() -> None:
    assert Swarm.environments == ("container", "vm-container")
    assert "high_availability" not in Swarm.levels(), "all levels of it"


@given(st.text("abcXYZ019._-", min_size=1, max_size=64), st.text("abcXYZ019._-", min_size=1, max_size=64))
def test_names_fit_and_stay_different(name: str, other: str) -> None:
    assert len(fit(name, 30)) <= 30
    assert all(letter in "abcdefghijklmnopqrstuvwxyz0123456789-" for letter in fit(name, 30))
    assert not fit(name, 30).startswith("-")
    assert (fit(name, 30) == fit(other, 30)) == (name == other)


# Answers

HOSTS = {"n1": "worker-1", "n2": "worker-2"}


def task(slot: int, state: str, desired: str = "running", at: int = 0, service: str = "geo", **status: Any) -> Any:
    status = {"State": state, "Err": "", "Message": state, **status}
    labels = {LABEL: "hotel", SERVICE_LABEL: service} if service else {LABEL: "hotel"}
    return {
        "ID": f"task-{slot}-{at}",
        "CreatedAt": f"2026-01-01T00:00:{at:02}.000000000Z",
        "Slot": slot,
        "NodeID": status.pop("node", "n1"),
        "DesiredState": desired,
        "Spec": {"ContainerSpec": {"Labels": labels}},
        "Status": {key: value for key, value in status.items() if key != "node"},
    }


def container(identity: str) -> dict[str, str]:
    return {"ContainerID": identity}


def test_slots_are_numbers_of_replicas() -> None:
    tasks = [task(2, "running", ContainerStatus=container("b")), task(1, "starting", ContainerStatus=container("a"))]
    found = swarm_tasks.replicas(tasks, HOSTS, hotel())
    assert [(replica.name, replica.healthy, replica.container, replica.node) for replica in found] == [
        ("geo-1", False, "a", "worker-1"),
        ("geo-2", True, "b", "worker-1"),
    ]


def test_a_port_that_an_earlier_task_of_the_same_slot_holds_is_waited_for() -> None:
    earlier = task(1, "running", "shutdown", 1, ContainerStatus=container("old"))
    taken = "no suitable node (host-mode port already in use on 1 node)"
    (found,) = swarm_tasks.replicas([earlier, task(1, "pending", "running", 2, Err=taken)], HOSTS, hotel())
    assert not found.hopeless and not found.healthy


def test_the_newest_task_that_is_wanted_counts_and_the_old_one_says_why() -> None:
    dead = task(1, "failed", "shutdown", 1, Err="task: non-zero exit (137)", ContainerStatus=container("old"))
    tasks = [task(1, "ready", "ready", 2), dead]
    (found,) = swarm_tasks.replicas(tasks, HOSTS, hotel())
    assert (found.state, found.container, found.hopeless) == ("ready", "", False)
    assert found.why == "task: non-zero exit (137); ready"
    assert swarm_tasks.last_ended(tasks, HOSTS) == {"geo-1": ("worker-1", "old")}
    last, node = swarm_tasks.last_with_container(tasks, HOSTS, found)
    assert last is dead and node == "worker-1"


def test_what_is_going_away_and_what_is_no_service_are_no_replicas() -> None:
    tasks = [task(1, "running", "remove"), task(1, "running", service="", Err="no room")]
    assert swarm_tasks.replicas(tasks, HOSTS, hotel()) == []


def test_published_ports_are_addresses_of_their_node() -> None:
    ports = {"Ports": [{"TargetPort": 5432, "PublishedPort": 32768, "PublishMode": "host", "Protocol": "tcp"}] * 2}
    its = task(1, "running", service="documents-geo", node="n2", PortStatus=ports)
    its["NetworksAttachments"] = [{"Network": {}, "Addresses": ["10.0.1.5/24"]}]
    (found,) = swarm_tasks.replicas([its], HOSTS, hotel())
    assert found.addresses == {"postgres": "198.18.0.4:32768"} and found.address == "10.0.1.5"


def test_ports_unknown_to_a_new_leader_stay_while_the_container_lives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(container_id: str, **port_status: Any) -> None:
        status = {"ContainerStatus": container(container_id), "PortStatus": port_status}
        tasks = [task(1, "running", service="documents-geo", node="n2", **status)]
        monkeypatch.setattr(Swarm, "_tasks", lambda self: (tasks, HOSTS))

    swarm = Swarm(hotel(), tmp_path)
    monkeypatch.setattr(swarm, "_completed", lambda found, node, ended: found)
    monkeypatch.setattr(swarm._answers, "judge", lambda found: found)
    answer("a", Ports=[{"TargetPort": 5432, "PublishedPort": 32768, "PublishMode": "host", "Protocol": "tcp"}])
    known = swarm.addresses("documents-geo", "postgres")
    assert known == ["198.18.0.4:32768"]
    answer("a")
    assert swarm.addresses("documents-geo", "postgres") == known
    answer("b")
    assert swarm.addresses("documents-geo", "postgres") == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            "starting container failed: driver failed programming external connectivity on endpoint x (1f):"
            " Error starting userland proxy: listen tcp4 0.0.0.0:5000: bind: address already in use",
            "port 5000 of the node is taken; stop what listens there (on the node, `ss -ltnp 'sport = :5000'`",
        ),
        ("Bind for 0.0.0.0:80 failed: port is already allocated", "port 80 of the node is taken"),
        ("no suitable node (host-mode port already in use on 2 nodes)", "a port that it publishes is taken"),
        ("no suitable node (scheduling constraints not satisfied on 3 nodes)", "none of the nodes that it may run on"),
        ("No such image: sha256:12ab", "the node has no image sha256:12ab and cannot pull it; start again"),
        (
            "Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available",
            "more CPU than the node's 2.00 cores",
        ),
        ("Minimum memory limit allowed is 6MB", "Docker takes no memory limit below 6MB; set resources: {SERVICE:"),
    ],
)
def test_refusals_are_reported_with_the_remedy_and_waiting_ends(error: str, message: str) -> None:
    (found,) = swarm_tasks.replicas([task(1, "rejected", Err=error)], HOSTS, hotel())
    assert message in found.why and found.hopeless
    assert errors.meaning("task: non-zero exit (1)") is None


def test_stores_in_a_cluster_are_named_by_what_is_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "loadstone.infrastructure.images.reference", lambda what, access: f"loadstone/{what}:0123456789ab"
    )
    swarm = Swarm(hotel(), Path("/nowhere"), Access("swarm", addresses=("unix:///nowhere",)))
    assert tree(swarm.render(), FILE)["services"]["geo"]["image"] == "loadstone/stone:0123456789ab"
