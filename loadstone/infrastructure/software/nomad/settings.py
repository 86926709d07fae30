"""The configuration files of Consul and Nomad on a member. They hold tokens: write them for their owner alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.infrastructure.software.base import Member
from loadstone.infrastructure.software.nomad.credentials import Secrets

MHZ = 1000
"""What a core counts as: shares of CPU are then thousandths of a core, whatever the processor."""
CONSUL_PORT = 8500
NOMAD_PORT = 4646
_NOMAD_RPC_PORT = 4647
PORTS = (NOMAD_PORT, _NOMAD_RPC_PORT, 4648, 8300, 8301, 8302, CONSUL_PORT)
"""Where agents listen: HTTP, RPC and gossip of Nomad; RPC, gossip in the datacenter and beyond, HTTP of Consul."""
AGENTS_POLICY = """\
agent_prefix "" { policy = "read" }
node_prefix "" { policy = "write" }
service_prefix "" { policy = "write" }
key_prefix "loadstone/" { policy = "read" }
"""
"""What ``Secrets.agents`` may do in Consul."""

_DATACENTER = "loadstone"
_LOOPBACK = "127.0.0.1"
_INTERFACE = '{{ GetAllInterfaces | include "address" "^%s(/|$)" | attr "name" }}'
"""A template of Nomad's: the name of the interface that has an address, given as a regular expression."""

Settings = dict[str, Any]


@dataclass(frozen=True)
class Configuration:
    """The settings of one cluster; ``servers`` are the addresses of its managers."""

    servers: Sequence[str]
    secrets: Secrets

    def consul(self, member: Member) -> Settings:
        """The settings of a Consul agent, which is a server on managers."""
        manager = member.role == "manager"
        server = {"server": True, "bootstrap_expect": len(self.servers)} if manager else {}
        management = {"initial_management": self.secrets.consul} if manager else {}
        return {
            "node_name": member.name,
            "datacenter": _DATACENTER,
            "data_dir": str(member.folder / "consul"),
            "bind_addr": member.address,
            # Nomad beside it is the only client of an agent; the desk and users talk to servers.
            "client_addr": f"{_LOOPBACK} {member.address}" if manager else _LOOPBACK,
            "retry_join": list(self.servers),
            "retry_interval": "1s",
            "encrypt": self.secrets.consul_gossip,
            "acl": {
                "enabled": True,
                "default_policy": "deny",
                "tokens": {"agent": self.secrets.agents, **management},
            },
            "ports": {"dns": -1, "grpc": -1, "grpc_tls": -1},
            "connect": {"enabled": False},
            "performance": {"raft_multiplier": self._raft_multiplier},
            # Members may share cores and answer late: none is taken for dead before 10 s.
            "gossip_lan": {"probe_interval": "2s", "probe_timeout": "1500ms", "suspicion_mult": 5},
            "disable_update_check": True,
            "log_level": "warn",
            **server,
        }

    def server(self, member: Member) -> Settings:
        """The settings of Nomad on a manager. Nodes are filled evenly, as by the other orchestrators."""
        return {
            **self._nomad(member),
            "server": {
                "enabled": True,
                "bootstrap_expect": len(self.servers),
                "encrypt": self.secrets.nomad_gossip,
                "server_join": {"retry_join": list(self.servers), "retry_interval": "1s"},
                "raft_multiplier": self._raft_multiplier,
                "default_scheduler_config": {"scheduler_algorithm": "spread"},
            },
        }

    def client(self, member: Member, cores: int, engine: str) -> Settings:
        """The settings of Nomad on a worker; ``engine``: the URL of its Docker engine, as seen there.

        Containers get no folder of the host: the docker driver's ``volumes`` stay disabled.
        """
        return {
            **self._nomad(member),
            "client": {
                "enabled": True,
                "servers": [f"{server}:{_NOMAD_RPC_PORT}" for server in self.servers],
                "network_interface": _INTERFACE % member.address.replace(".", "[.]"),
                "cpu_total_compute": MHZ * cores,
                "cgroup_parent": f"/{member.group}/allocations",
                "options": {
                    "driver.allowlist": "docker",
                    "fingerprint.denylist": "env_aws,env_azure,env_digitalocean,env_gce",
                },
            },
            "plugin": {"docker": {"config": {"endpoint": engine, "gc": {"image": False}}}},
        }

    def _nomad(self, member: Member) -> Settings:
        return {
            "name": member.name,
            "datacenter": _DATACENTER,
            "data_dir": str(member.folder / "nomad"),
            "bind_addr": member.address,
            "acl": {"enabled": True},
            "consul": {
                "address": f"{_LOOPBACK}:{CONSUL_PORT}",
                "token": self.secrets.agents,
                "auto_advertise": False,
                "server_auto_join": False,
                "client_auto_join": False,
            },
            "disable_update_check": True,
            "log_level": "WARN",
        }

    @property
    def _raft_multiplier(self) -> int:
        """Raft timeout multiplier. A lone server elects itself, so it need not wait."""
        return 1 if len(self.servers) == 1 else 3
