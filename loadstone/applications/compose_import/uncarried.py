"""The keys of compose files that Loadstone does not carry, each with the reason; and their removal from the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from loadstone.model.messages import KeyPath

_SECRET = "secrets must reach no result; for a test write a value into environment or a file into configs"
_NOT_ALL = "not every orchestrator has it"
_ROOT = "replicas get no rights beyond an image's own"
_HOST = "replicas share nothing with their host"
_CPU = "write cpus for a limit of CPU time"
_MEMORY = "write mem_limit for a limit of memory"
_FOR_PEOPLE = "it changes nothing in the container"
_ONE_NETWORK = "all services are in one network of the deployment's own"
_STORAGE = "a volume is an empty folder on the replica's node"
_FILE = "a configuration file is read-only and can be read by everyone"
_ROLLING = "a deployment is made once and removed as a whole"
_ASKING = "orchestrators check every application equally often"
_BUILDING = "images are not built here"

SERVICE = {
    "annotations": _FOR_PEOPLE,
    "attach": _FOR_PEOPLE,
    "blkio_config": _NOT_ALL,
    "cap_add": _ROOT,
    "cap_drop": _NOT_ALL,
    "cgroup": _HOST,
    "cgroup_parent": _HOST,
    "cpu_count": _CPU,
    "cpu_percent": _CPU,
    "cpu_rt_period": _CPU,
    "cpu_rt_runtime": _CPU,
    "cpu_shares": _CPU,
    "cpuset": _CPU,
    "credential_spec": _NOT_ALL,
    "develop": _BUILDING,
    "device_cgroup_rules": _HOST,
    "devices": _HOST,
    "dns": _ONE_NETWORK,
    "dns_opt": _ONE_NETWORK,
    "dns_search": _ONE_NETWORK,
    "domainname": _ONE_NETWORK,
    "external_links": "nothing outside the deployment is reached by name",
    "extra_hosts": "nothing outside the deployment is reached by name",
    "gpus": _HOST,
    "group_add": _NOT_ALL,
    "hostname": "a container is called what its orchestrator calls it; others find it by its service",
    "init": _NOT_ALL,
    "ipc": _HOST,
    "isolation": _NOT_ALL,
    "label_file": _FOR_PEOPLE,
    "labels": _FOR_PEOPLE,
    "logging": "logs are read through the orchestrator",
    "mac_address": _ONE_NETWORK,
    "mem_reservation": _MEMORY,
    "mem_swappiness": _MEMORY,
    "memswap_limit": _MEMORY,
    "models": _NOT_ALL,
    "network_mode": _ONE_NETWORK,
    "oom_kill_disable": _MEMORY,
    "oom_score_adj": _MEMORY,
    "pid": _HOST,
    "pids_limit": _NOT_ALL,
    "platform": "nodes run what they are",
    "pre_start": "nothing is run in a container besides its command",
    "post_start": "nothing is run in a container besides its command",
    "pre_stop": "nothing is run in a container besides its command",
    "privileged": _ROOT,
    "pull_refresh_after": "an image is brought to a node where it is not there yet",
    "pull_policy": "an image is brought to a node where it is not there yet",
    "read_only": "the container's own files can be written",
    "runtime": _HOST,
    "secrets": _SECRET,
    "security_opt": _ROOT,
    "shm_size": _NOT_ALL,
    "stdin_open": _FOR_PEOPLE,
    "stop_grace_period": _NOT_ALL,
    "stop_signal": _NOT_ALL,
    "storage_opt": _STORAGE,
    "sysctls": _NOT_ALL,
    "tmpfs": "the path is on the container's disk",
    "tty": _FOR_PEOPLE,
    "ulimits": _NOT_ALL,
    "umask": _NOT_ALL,
    "use_api_socket": _HOST,
    "user": "the container runs as the user of its image",
    "userns_mode": _HOST,
    "uts": _HOST,
    "volumes_from": "replicas may be on different nodes",
    "working_dir": "the container starts in the folder of its image; write whole paths in command",
}
NOT_CARRIED: dict[KeyPath, dict[str, str]] = {
    (): {
        "secrets": _SECRET,
        "models": _NOT_ALL,
        "jobs": "services alone are deployed; a job would end",
    },
    ("services", "*"): SERVICE,
    ("services", "*", "deploy"): {
        "endpoint_mode": "a service's name is that of all its replicas",
        "labels": _FOR_PEOPLE,
        "rollback_config": _ROLLING,
        "update_config": _ROLLING,
    },
    ("services", "*", "deploy", "resources"): {
        "reservations": "replicas are limited, and no part of a node is set aside for them",
    },
    ("services", "*", "deploy", "resources", "limits"): {"pids": _NOT_ALL},
    ("services", "*", "deploy", "placement"): {
        "max_replicas_per_node": "replicas are spread evenly",
        "preferences": "replicas are spread evenly",
    },
    ("services", "*", "deploy", "restart_policy"): {
        "delay": "the orchestrator's own",
        "max_attempts": "the orchestrator's own",
        "window": "the orchestrator's own",
    },
    ("services", "*", "healthcheck"): {"start_interval": _ASKING, "timeout": _ASKING},
    ("services", "*", "ports", "*"): {
        "app_protocol": _FOR_PEOPLE,
        "host_ip": "where a port is published is the orchestrator's",
        "mode": "where a port is published is the orchestrator's",
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
        "required": "every service is deployed",
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
    ("services", "*", "env_file", "*"): {"format": "read as compose reads it"},
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
        "external": "what the cluster has under that name is not known here",
        "labels": _FOR_PEOPLE,
        "template_driver": _NOT_ALL,
    },
}
"""Why a key is not carried, by the path of what has it; ``*`` is any name or position."""

REFUSED: dict[KeyPath, dict[str, str]] = {
    ("services", "*"): {"provider": "a service that is no container cannot be deployed; remove it"},
}
"""What would leave an application that is not the one meant, with the remedy."""


def taken_out(
    data: Any,
    written: Callable[[KeyPath], bool],
    note: Callable[[KeyPath, str], None],
    refuse: Callable[[KeyPath, str], None],
) -> None:
    """Remove from ``data`` extensions, keys without a value, and what is not carried.

    ``note`` receives what is not carried and ``written`` in a file; ``refuse`` what makes it another application.
    """
    for pattern in NOT_CARRIED:
        for path, mapping in _found(data, pattern, ()):
            for key in list(mapping):
                if reason := REFUSED.get(pattern, {}).get(key):
                    refuse((*path, key), reason)
                elif (reason := NOT_CARRIED[pattern].get(key)) and mapping[key] and written((*path, key)):
                    note((*path, key), f"not carried: {reason}")
                ours = path == () and key == "x-loadstone"
                if reason or mapping[key] is None or (key.startswith("x-") and not ours):
                    del mapping[key]


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
