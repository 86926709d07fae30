"""Nomad with Consul: servers of both on managers; agents of both and a Docker engine on workers."""
