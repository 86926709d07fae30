"""From pods to replicas: numbers, health, reasons in Kubernetes' own words."""

from __future__ import annotations

from typing import Any

from loadstone.model.deployment import FoundReplica
from loadstone.orchestration.containers import SERVICE_LABEL
from loadstone.orchestration.kubernetes import pods
from tests.orchestration.kubernetes_deployments import FOREIGN, hotel, other

READY = {"type": "Ready", "status": "True"}
NOT_READY = {"type": "Ready", "status": "False"}


def pod(service: str, name: str, created: int = 0, status: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    """A pod as the API lists it; ``status``: of its only container."""
    container = {
        "containerID": f"containerd://{name}",
        "imageID": "sha256:abc",
        "state": {"running": {}},
        **(status or {}),
    }
    return {
        "metadata": {
            "name": name,
            "labels": {SERVICE_LABEL: service},
            "creationTimestamp": f"2026-01-01T00:00:{created:02d}Z",
            **meta,
        },
        "spec": {"nodeName": "worker-1"},
        "status": {"phase": "Running", "conditions": [READY], "containerStatuses": [container]},
    }


def starting(reason: str, message: str = "") -> dict[str, Any]:
    """A pod whose container waits."""
    made = pod("geo", "geo-a", status={"state": {"waiting": {"reason": reason, "message": message}}})
    made["status"]["conditions"] = [NOT_READY]
    return made


def only(made: dict[str, Any], *warnings: dict[str, Any]) -> FoundReplica:
    return next(found for found in pods.replicas([made], warnings, {}, hotel()) if found.name == "geo-1")


def warning(name: str, message: str, at: int = 0) -> dict[str, Any]:
    stamp = f"2026-01-01T00:00:{at:02d}Z"
    return {"involvedObject": {"name": name}, "message": message, "lastTimestamp": stamp, "eventTime": None}


def test_replicas_are_numbered_by_age_then_name() -> None:
    listed = [pod("geo", "geo-a", 2), pod("geo", "geo-c", 1), pod("rate", "rate-x", 0), pod("geo", "geo-b", 1)]
    found = {found.name: found.container for found in pods.replicas(listed, [], {}, hotel())}
    assert found == {"geo-1": "geo-b", "geo-2": "geo-c", "geo-3": "geo-a", "rate-1": "rate-x"}
    assert pods.names(listed) == found


def test_replicas_of_stores_keep_their_numbers() -> None:
    owner = [{"kind": "StatefulSet"}]
    listed = [pod("documents-geo", f"documents-geo-{n}", 9 - n, ownerReferences=owner) for n in (10, 0, 2)]
    assert list(pods.names(listed)) == ["documents-geo-1", "documents-geo-3", "documents-geo-11"]


def test_pods_on_their_way_out_are_left_out() -> None:
    evicted = pod("geo", "geo-a")
    evicted["status"]["phase"] = "Failed"
    going = pod("geo", "geo-b", deletionTimestamp="2026-01-01T00:00:00Z")
    assert pods.replicas([evicted, going], [], {}, hotel()) == []


def test_a_replica_that_runs() -> None:
    ports = {"frontend": {5000: 30001}, "documents-geo-1": {5432: 30002}}
    found = pods.replicas([pod("frontend", "frontend-a")], [], ports, hotel())[0]
    assert found == FoundReplica(
        name="frontend-1",
        service="frontend",
        node="worker-1",
        state="Running",
        healthy=True,
        container="frontend-a",
        image="sha256:abc",
        addresses={"http": "198.18.0.2:30001"},
    )


def test_a_pulled_image_is_called_by_its_manifest() -> None:
    pulled = pod("geo", "geo-a", status={"imageID": "registry.example.org/stone@sha256:def"})
    assert only(pulled).image == "sha256:def"


def test_without_its_image_it_is_hopeless() -> None:
    found = only(starting("ErrImageNeverPull", 'Container image "x:1" is not present with pull policy of Never'))
    assert found.hopeless and not found.healthy
    assert found.why == 'ErrImageNeverPull: Container image "x:1" is not present with pull policy of Never'


def test_a_secret_that_is_on_its_way_is_waited_for() -> None:
    reason, late = "CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition"
    assert not only(starting(reason, late)).hopeless
    assert only(starting(reason, 'secret "documents" not found')).hopeless


def test_without_a_node_it_is_hopeless() -> None:
    unplaced = starting("")
    unplaced["status"] = {
        "phase": "Pending",
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}
        ],
    }
    del unplaced["spec"]["nodeName"]
    found = only(unplaced)
    assert (found.hopeless, found.node, found.container) == (True, "", "")
    assert found.why == "no node may run it: 0/2 nodes are available"
    soon = "0/2 nodes are available: 2 node(s) had untolerated taint {node.kubernetes.io/not-ready: }."
    unplaced["status"]["conditions"][0]["message"] = soon
    assert (only(unplaced).hopeless, only(unplaced).why) == (False, f"no node may run it: {soon}")


def test_what_ended_says_how() -> None:
    crashed = starting("CrashLoopBackOff", "back-off 10s")
    crashed["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    found = only(crashed, warning("geo-a", "Back-off restarting failed container"))
    assert found.why == "its container ran out of memory and was killed, exit code 137; CrashLoopBackOff: back-off 10s"
    assert not found.hopeless
    again = pod("geo", "geo-a", status={"lastState": {"terminated": {"reason": "Error", "exitCode": 2}}})
    assert (only(again).healthy, only(again).why) == (True, "its container ended, exit code 2")


def test_a_check_that_fails_is_reported_by_the_last_event() -> None:
    busy = pod("geo", "geo-a")
    busy["status"]["conditions"] = [NOT_READY]
    late = warning("geo-a", "Readiness probe failed: HTTP probe failed with statuscode: 503 ", at=2)
    assert only(busy, late, warning("geo-a", "earlier", at=1)).why == late["message"].strip()
    assert only(starting("ContainerCreating"), late).why == late["message"].strip()


def test_a_pod_that_could_not_be_made_says_why() -> None:
    deployment = other(FOREIGN)
    refused = warning("web-5d5f6c", 'pods "web-5d5f6c-" is forbidden: exceeded quota')
    (found,) = pods.replicas([], [refused, warning("web-more-1", "not ours")], {}, deployment)
    assert (found.name, found.state, found.why) == ("web-1", "not made", refused["message"])
