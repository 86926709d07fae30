"""The objects of a deployment on Kubernetes, as a person would write them: one file a service. Pure."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable
from typing import Any

from loadstone.model import yaml12
from loadstone.model.deployment import EXECUTABLE, Deployment, Replica, is_script
from loadstone.model.software import STORE_PASSWORD
from loadstone.model.units import format_memory
from loadstone.model.yaml12 import FlowMapping
from loadstone.orchestration import discovery
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL
from loadstone.orchestration.docker import fit

Manifest = dict[str, Any]

PUBLISHED_LABEL = "loadstone.published"
"""On a Service that opens ports on nodes: the service that they lead to."""
HOST_LABEL = "kubernetes.io/hostname"
"""On a node: its name."""
_SECRET = "stores"
_SECRET_KEY = "password"
_LONGEST_NAME = 63
_LONGEST_SERVICE = _LONGEST_NAME - len("-999-published")
_GRACE_S = 5
_PROBE = {"periodSeconds": 1, "timeoutSeconds": 30, "failureThreshold": 30}
"""Often until it is ready. A replica that is so busy that it does not answer is no reason to send requests elsewhere:
that would end the trial which found out."""


def namespace_of(name: str) -> str:
    """A deployment's name made fit for a namespace and for labels."""
    return fit(name, _LONGEST_NAME)


def objections(deployment: Deployment) -> list[str]:
    """What of a deployment Kubernetes cannot express, as sentences."""
    wrong = []
    for service, (replica, *_) in deployment.services().items():
        if not re.fullmatch(rf"[a-z]([a-z0-9-]{{0,{_LONGEST_SERVICE - 2}}}[a-z0-9])?", service):
            wrong.append(
                f"service {service!r}: Kubernetes wants lower-case letters, digits and '-', a letter first,"
                f" no '-' last, at most {_LONGEST_SERVICE}"
            )
        if (cpu := replica.resources.cpu) is not None and not math.isclose(cpu * 1000, round(cpu * 1000)):
            wrong.append(f"service {service!r}: cpu {cpu:g}: Kubernetes counts in thousandths of a core")
    return wrong


def files(deployment: Deployment, pull: str) -> dict[str, str]:
    """The files by name, that of the namespace first."""
    namespace = {"namespace.yaml": [namespace_manifest(deployment)]}
    services = {f"services/{name}.yaml": service_manifests(deployment, name, pull) for name in deployment.services()}
    return {name: dump(manifests) for name, manifests in (namespace | services).items()}


def namespace_manifest(deployment: Deployment) -> Manifest:
    """The namespace that holds everything else."""
    name = namespace_of(deployment.name)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {LABEL: name}}}


def secret_manifest(deployment: Deployment, password: str) -> Manifest:
    """What has the password of the stores; in no file."""
    name = namespace_of(deployment.name)
    metadata = {"name": _SECRET, "namespace": name, "labels": {LABEL: name}}
    data = {_SECRET_KEY: base64.b64encode(password.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def service_manifests(deployment: Deployment, service: str, pull: str) -> list[Manifest]:
    """Everything of one service. ``pull``: when nodes fetch images (``Never``, ``IfNotPresent``)."""
    replicas = deployment.of(service)
    manifests = [_configs(deployment, replicas[0])] if replicas[0].configs else []
    manifests.append(_workload(deployment, replicas, pull))
    manifests.append(_headless(deployment, replicas[0]))
    return manifests + published(deployment, replicas[0])


def published(deployment: Deployment, replica: Replica) -> list[Manifest]:
    """What opens ports on nodes: those of an entry, for all replicas alike."""
    entries = {name: number for name, number in replica.ports.items() if deployment.enters(replica, name)}
    return [_node_port(deployment, replica, entries)] if entries else []


def _meta(deployment: Deployment, name: str, service: str, **labels: str) -> dict[str, Any]:
    namespace = namespace_of(deployment.name)
    return {"name": name, "namespace": namespace, "labels": {**_labels(deployment, service), **labels}}


def _labels(deployment: Deployment, service: str) -> dict[str, str]:
    return {LABEL: namespace_of(deployment.name), SERVICE_LABEL: service}


def _workload(deployment: Deployment, replicas: list[Replica], pull: str) -> Manifest:
    """A StatefulSet for a store, whose replicas are not alike; a Deployment for the rest."""
    replica = replicas[0]
    own: dict[str, Any] = {"strategy": {"type": "Recreate"}}  # never more replicas than wanted, not even for a moment
    if replica.store:
        own = {"serviceName": replica.service, "podManagementPolicy": "Parallel"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet" if replica.store else "Deployment",
        "metadata": _meta(deployment, replica.service, replica.service),
        "spec": {
            "replicas": len(replicas),
            "selector": {"matchLabels": FlowMapping({SERVICE_LABEL: replica.service})},
            **own,
            "template": {
                "metadata": {"labels": _labels(deployment, replica.service)},
                "spec": _pod(deployment, replica, pull),
            },
        },
    }


def _pod(deployment: Deployment, replica: Replica, pull: str) -> dict[str, Any]:
    pod: dict[str, Any] = {}
    clients = [node.name for node in deployment.nodes if node.role == "client" and node.reach.through_cluster]
    if nodes := deployment.allowed.get(replica.service):
        pod["affinity"] = affinity("In", nodes)
    elif clients:  # they generate the load
        pod["affinity"] = affinity("NotIn", clients)
    # The scheduler evens out what pods request, which is nothing here: their number has to do.
    pod["topologySpreadConstraints"] = [
        {
            "topologyKey": HOST_LABEL,
            "maxSkew": 1,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": FlowMapping({LABEL: namespace_of(deployment.name)})},
        }
    ]
    if replica.stack:  # on the ports of its node, and yet with the cluster's names
        pod |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    pod |= {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": _GRACE_S,
        "containers": [_container(deployment, replica, pull)],
    }
    if volumes := _volumes(replica):
        pod["volumes"] = volumes
    return pod


def affinity(operator: str, nodes: Iterable[str]) -> dict[str, Any]:
    """The affinity of a pod that is only placed on these nodes (``In``), or on none of them (``NotIn``)."""
    expression = FlowMapping(key=HOST_LABEL, operator=operator, values=list(nodes))
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _container(deployment: Deployment, replica: Replica, pull: str) -> dict[str, Any]:
    what = "stone" if replica.stone is not None else replica.software or replica.image or ""
    container: dict[str, Any] = {
        "name": replica.service,
        "image": deployment.images[what],
        "imagePullPolicy": pull,
        "command": _literal(replica.entrypoint),
        "args": _literal(_arguments(deployment, replica)),
        "env": [_variable(name, value) for name, value in _environment(deployment, replica).items()],
        "ports": [FlowMapping(name=_port_name(name, port), containerPort=port) for name, port in replica.ports.items()],
        "resources": _resources(replica),
        "readinessProbe": _probe(replica),
        "volumeMounts": _mounts(replica),
    }
    return {key: value for key, value in container.items() if value}


def _variable(name: str, value: str) -> FlowMapping:
    if value == STORE_PASSWORD:
        return FlowMapping(name=name, valueFrom=FlowMapping(secretKeyRef=FlowMapping(name=_SECRET, key=_SECRET_KEY)))
    return FlowMapping(name=name, value=_literal([value])[0])


def _literal(arguments: Iterable[str]) -> list[str]:
    """Kubernetes replaces ``$(NAME)``, and ``$$`` by one dollar sign; a second one keeps either."""
    return [re.sub(r"\$(?=[$(])", "$$", argument) for argument in arguments]


def _arguments(deployment: Deployment, replica: Replica) -> list[str]:
    if replica.stone is not None:
        return ["serve", replica.stone]
    if replica.software is not None:
        return deployment.software[replica.software].container.command
    return list(replica.command)


def _environment(deployment: Deployment, replica: Replica) -> dict[str, str]:
    if replica.stone is not None:
        return discovery.environment(deployment, replica)
    if replica.software is not None:
        return deployment.software[replica.software].container.environment
    return discovery.password(deployment, replica) | replica.environment


def _resources(replica: Replica) -> dict[str, Any]:
    """Limits as wanted; nothing is reserved, which would otherwise be as much as the limits."""
    limits = FlowMapping()
    if replica.resources.cpu is not None:
        thousandths = round(replica.resources.cpu * 1000)
        limits["cpu"] = f"{thousandths}m" if thousandths % 1000 else thousandths // 1000
    if replica.resources.memory is not None:
        limits["memory"] = _memory(replica.resources.memory)
    return {"requests": FlowMapping(cpu=0, memory=0), **({"limits": limits} if limits else {})}


def _memory(size: int) -> str:
    """``128Mi``: Kubernetes leaves the B away; plain bytes where no unit fits."""
    text = format_memory(size)
    return text.removesuffix("B") if text.endswith("iB") and "." not in text else str(size)


def _probe(replica: Replica) -> dict[str, Any] | None:
    if not replica.ports:
        return None
    port = replica.ports[replica.readiness.port or replica.main_port]
    if replica.readiness.http is not None:
        check = {"httpGet": FlowMapping(path=replica.readiness.http, port=port)}
    else:
        check = {"tcpSocket": FlowMapping(port=port)}
    return check | _PROBE


def _keys(replica: Replica) -> dict[str, str]:
    """The key of each configuration file in the ConfigMap, by path."""
    return {
        path: f"{number}-{re.sub(r'[^A-Za-z0-9._-]', '-', path.rpartition('/')[2])}"
        for number, path in enumerate(replica.configs, start=1)
    }


def _configs(deployment: Deployment, replica: Replica) -> Manifest:
    data = {key: replica.configs[path] for path, key in _keys(replica).items()}
    meta = _meta(deployment, replica.service, replica.service)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def _mounts(replica: Replica) -> list[FlowMapping]:
    return [
        *(
            FlowMapping(name="configs", mountPath=path, subPath=key, readOnly=True)
            for path, key in _keys(replica).items()
        ),
        *(FlowMapping(name=f"data-{n}", mountPath=path) for n, path in enumerate(replica.volumes, start=1)),
    ]


def _volumes(replica: Replica) -> list[FlowMapping]:
    mode = {"defaultMode": EXECUTABLE} if any(is_script(text) for text in replica.configs.values()) else {}
    source = {"name": replica.service, **mode}
    configs = [FlowMapping(name="configs", configMap=source)] if replica.configs else []
    return configs + [FlowMapping(name=f"data-{n}", emptyDir={}) for n in range(1, len(replica.volumes) + 1)]


def _headless(deployment: Deployment, replica: Replica) -> Manifest:
    """The service's name in DNS: the addresses of all replicas that are ready; without ports it has one too."""
    ports = [FlowMapping(name=_port_name(name, port), port=port) for name, port in replica.ports.items()]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta(deployment, replica.service, replica.service),
        "spec": {
            "clusterIP": "None",
            "selector": {SERVICE_LABEL: replica.service},
            **({"ports": ports} if ports else {}),
        },
    }


def _node_port(deployment: Deployment, replica: Replica, ports: dict[str, int]) -> Manifest:
    """Ports, chosen by the cluster, of the nodes where the replicas are."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta(
            deployment, f"{replica.service}-published", replica.service, **{PUBLISHED_LABEL: replica.service}
        ),
        "spec": {
            "type": "NodePort",
            "externalTrafficPolicy": "Local",
            "selector": {SERVICE_LABEL: replica.service},
            "ports": [FlowMapping(name=_port_name(name, port), port=port) for name, port in ports.items()],
        },
    }


def _port_name(name: str, port: int) -> str:
    """Fifteen lower-case letters, digits and '-' with a letter at least (RFC 6335), else the number says it."""
    fits = re.fullmatch(r"(?=.*[a-z])[a-z0-9](-?[a-z0-9]){0,14}", name) is not None and len(name) <= 15
    return name if fits else f"port-{port}"


def dump(manifests: list[Manifest]) -> str:
    """Objects as the text of a file."""
    return yaml12.dump(*manifests)
