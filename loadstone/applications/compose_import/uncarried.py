"""What a compose file may say and Loadstone does not carry, each with the reason; and taking it out of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from loadstone.model.messages import KeyPath

_HERE = "not every orchestrator has it"
_ROOT = "not carried: replicas get no rights beyond an image's own"
_HOST = "not carried: replicas share nothing with their host"
_CPU = "not carried; write cpus for a limit of CPU time"
_MEMORY = "not carried; write mem_limit for a limit of memory"
_FOR_PEOPLE = "not carried: it changes nothing in the container"
_ONE_NETWORK = "not carried: all services are in one network of the deployment's own"
_STORAGE = "not carried: a volume is an empty folder on the replica's node"
_FILE = "not carried: a configuration file is read-only and can be read by everyone"
_ROLLING = "not carried: a deployment is made once and removed as a whole"
_ASKING = "not carried: an orchestrator asks as often as it does for every application"
_BUILDING = "not carried: images are not built here"

_SERVICE = {
    "annotations": _FOR_PEOPLE,
    "attach": _FOR_PEOPLE,
    "blkio_config": f"not carried: {_HERE}",
    "cap_add": _ROOT,
    "cap_drop": f"not carried: {_HERE}",
    "cgroup": _HOST,
    "cgroup_parent": _HOST,
    "cpu_count": _CPU,
    "cpu_percent": _CPU,
    "cpu_rt_period": _CPU,
    "cpu_rt_runtime": _CPU,
    "cpu_shares": _CPU,
    "cpuset": _CPU,
    "credential_spec": f"not carried: {_HERE}",
    "develop": _BUILDING,
    "device_cgroup_rules": _HOST,
    "devices": _HOST,
    "dns": _ONE_NETWORK,
    "dns_opt": _ONE_NETWORK,
    "dns_search": _ONE_NETWORK,
    "domainname": _ONE_NETWORK,
    "external_links": "not carried: nothing outside the deployment is reached by name",
    "extra_hosts": "not carried: nothing outside the deployment is reached by name",
    "gpus": _HOST,
    "group_add": f"not carried: {_HERE}",
    "hostname": "not carried: a container is called what its orchestrator calls it; others find it by its service",
    "init": f"not carried: {_HERE}",
    "ipc": _HOST,
    "isolation": f"not carried: {_HERE}",
    "label_file": _FOR_PEOPLE,
    "labels": _FOR_PEOPLE,
    "logging": "not carried: logs are read through the orchestrator",
    "log_driver": "not carried: logs are read through the orchestrator",
    "log_opt": "not carried: logs are read through the orchestrator",
    "mac_address": _ONE_NETWORK,
    "mem_reservation": _MEMORY,
    "mem_swappiness": _MEMORY,
    "memswap_limit": _MEMORY,
    "models": f"not carried: {_HERE}",
    "net": _ONE_NETWORK,
    "network_mode": _ONE_NETWORK,
    "oom_kill_disable": _MEMORY,
    "oom_score_adj": _MEMORY,
    "pid": _HOST,
    "pids_limit": f"not carried: {_HERE}",
    "platform": "not carried: nodes run what they are",
    "post_start": "not carried: nothing is run in a container besides its command",
    "pre_stop": "not carried: nothing is run in a container besides its command",
    "privileged": _ROOT,
    "pull_policy": "not carried: an image is brought to a node where it is not there yet",
    "read_only": "not carried: the container's own files can be written",
    "runtime": _HOST,
    "secrets": "not carried, so that they reach no result; for a test give a value in environment or a file in configs",
    "security_opt": _ROOT,
    "shm_size": f"not carried: {_HERE}",
    "stdin_open": _FOR_PEOPLE,
    "stop_grace_period": f"not carried: {_HERE}",
    "stop_signal": f"not carried: {_HERE}",
    "storage_opt": _STORAGE,
    "sysctls": f"not carried: {_HERE}",
    "tmpfs": "not carried: the path is on the container's disk",
    "tty": _FOR_PEOPLE,
    "ulimits": f"not carried: {_HERE}",
    "use_api_socket": _HOST,
    "user": "not carried: the container runs as its image says",
    "userns_mode": _HOST,
    "uts": _HOST,
    "volume_driver": _STORAGE,
    "volumes_from": "not carried: replicas may be on different nodes",
    "working_dir": "not carried: the container starts where its image says; write whole paths in command",
}
NOT_CARRIED: dict[KeyPath, dict[str, str]] = {
    (): {
        "secrets": "not carried, so that they reach no result",
        "models": f"not carried: {_HERE}",
    },
    ("services", "*"): _SERVICE,
    ("services", "*", "deploy"): {
        "endpoint_mode": "not carried: a service's name is that of all its replicas",
        "labels": _FOR_PEOPLE,
        "rollback_config": _ROLLING,
        "update_config": _ROLLING,
    },
    ("services", "*", "deploy", "resources"): {
        "reservations": "not carried: replicas are limited, and no part of a node is set aside for them",
    },
    ("services", "*", "deploy", "resources", "limits"): {"pids": f"not carried: {_HERE}"},
    ("services", "*", "deploy", "placement"): {
        "max_replicas_per_node": "not carried: replicas are spread evenly",
        "preferences": "not carried: replicas are spread evenly",
    },
    ("services", "*", "deploy", "restart_policy"): {
        "delay": "not carried: the orchestrator's own",
        "max_attempts": "not carried: the orchestrator's own",
        "window": "not carried: the orchestrator's own",
    },
    ("services", "*", "healthcheck"): {"start_interval": _ASKING, "timeout": _ASKING},
    ("services", "*", "ports", "*"): {
        "app_protocol": _FOR_PEOPLE,
        "host_ip": "not carried: where a port is published is the orchestrator's",
        "mode": "not carried: where a port is published is the orchestrator's",
    },
    ("services", "*", "volumes", "*"): {
        "bind": _FILE,
        "consistency": _FILE,
        "image": _STORAGE,
        "tmpfs": _STORAGE,
        "volume": _STORAGE,
    },
    ("services", "*", "configs", "*"): {"gid": _FILE, "mode": _FILE, "uid": _FILE},
    ("services", "*", "depends_on", "*"): {
        "required": "not carried: every service is deployed",
        "restart": _ROLLING,
    },
    ("services", "*", "networks", "*"): {
        "driver_opts": _ONE_NETWORK,
        "gw_priority": _ONE_NETWORK,
        "interface_name": _ONE_NETWORK,
        "ipv4_address": _ONE_NETWORK,
        "ipv6_address": _ONE_NETWORK,
        "link_local_ips": _ONE_NETWORK,
        "mac_address": _ONE_NETWORK,
        "priority": _ONE_NETWORK,
    },
    ("services", "*", "env_file", "*"): {"format": "not carried: read as compose reads it"},
    ("networks", "*"): {
        "attachable": _ONE_NETWORK,
        "driver": _ONE_NETWORK,
        "driver_opts": _ONE_NETWORK,
        "enable_ipv4": _ONE_NETWORK,
        "enable_ipv6": _ONE_NETWORK,
        "external": _ONE_NETWORK,
        "internal": _ONE_NETWORK,
        "ipam": _ONE_NETWORK,
        "labels": _FOR_PEOPLE,
        "name": _FOR_PEOPLE,
    },
    ("volumes", "*"): {
        "driver": _STORAGE,
        "driver_opts": _STORAGE,
        "external": _STORAGE,
        "labels": _FOR_PEOPLE,
    },
    ("configs", "*"): {
        "external": "not carried: what the cluster has under that name is not known here",
        "labels": _FOR_PEOPLE,
        "name": _FOR_PEOPLE,
        "template_driver": f"not carried: {_HERE}",
    },
}
"""Why a key is not carried, by the path of what has it; ``*`` is any name or position."""

REFUSED: dict[KeyPath, dict[str, str]] = {
    (): {"include": "other files are not read; `docker compose config` writes one file of all"},
    ("services", "*"): {
        "extends": "other services are not looked up; `docker compose config` writes one file of all",
        "provider": "a service that is no container cannot be deployed; remove it",
    },
}
"""What would leave an application that is not the one meant, with the remedy."""


def taken_out(
    data: Any, note: Callable[[KeyPath, str], None], refuse: Callable[[KeyPath, str], None]
) -> dict[str, Any]:
    """``data`` without extensions, keys without a value, and what is not carried, which ``note`` is told."""
    kept: dict[str, Any] = data
    for pattern in NOT_CARRIED:
        for path, mapping in _found(kept, pattern, ()):
            for key in list(mapping):
                if reason := REFUSED.get(pattern, {}).get(key):
                    refuse((*path, key), reason)
                elif (reason := NOT_CARRIED[pattern].get(key)) and mapping[key] not in (None, [], {}):
                    note((*path, key), reason)
                ours = path == () and key == "x-loadstone"
                if reason or mapping[key] is None or (key.startswith("x-") and not ours):
                    del mapping[key]
    return kept


def _found(value: Any, pattern: KeyPath, path: KeyPath) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Each mapping at ``pattern``, with its path."""
    if not pattern:
        if isinstance(value, dict):
            yield path, value
        return
    first, *rest = pattern
    items: list[tuple[str | int, Any]] = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, below in items:
        if first in ("*", key):
            yield from _found(below, tuple(rest), (*path, key))
