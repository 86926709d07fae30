"""Compose files as they are in the world, as deployments: one of every construct, one in the shape of known shops."""

from __future__ import annotations

import shutil
from pathlib import Path

from loadstone.applications import catalogue
from loadstone.model.deployment import Deployment
from loadstone.model.study import Settings
from loadstone.orchestration.resolve import resolve
from tests.orchestration.docker_deployments import nodes

SOCKS = Path(__file__).parents[1] / "applications" / "compose_files" / "socks"
CONSTRUCTS = """\
services:
  web:
    image: nginx:${VERSION}
    ports: ["80:8000"]
    depends_on: {setup: {condition: service_completed_successfully}}
    environment: {CACHE: cache, BROKERS: "broker,idle"}
    healthcheck: {test: "curl -f http://localhost:9901/ready"}
    volumes:
      - /:/host:ro,rslave
      - /proc:/host/proc:ro
      - /etc/resolv.conf:/etc/resolv.conf:ro
      - /var/run/docker.sock:/var/run/docker.sock
      - ./nginx.conf:/etc/nginx/nginx.conf:ro,rslave
      - ./scripts:/scripts:ro
      - ./keys:/etc/keys:ro
  setup: {image: "postgres:16", command: [createdb, shop]}
  idle: {image: "x/idle:1", restart: "no"}
  cache: {image: "memcached:1.6"}
  broker: {image: "bitnami/kafka:3.6", environment: {ZOOKEEPER: zookeeper}}
  zookeeper: {image: "zookeeper:3.9"}
  registry: {image: "hashicorp/consul:1.18"}
  orders-db: {image: "x/orders-db:1", expose: [3306], volumes: ["orders:/var/lib/mysql"]}
  search: {image: "elasticsearch:8.11.1"}
  objects: {image: "minio/minio:1"}
  locust: {image: "locustio/locust:2", command: "-H http://web:8000"}
volumes:
  orders:
x-loadstone:
  without: [locust]
  seed: ./scripts/seed.sh
  reset: ./scripts/seed.sh --reset
  ready: ./scripts/seed.sh --check
"""
FILES = {
    ".env": "VERSION=1.25\n",
    "nginx.conf": "resolver 127.0.0.11;\nproxy_pass http://registry:8500;\n",
    "scripts/seed.sh": "#!/bin/sh\nexit 0\n",
    "keys/public.pem": "-----BEGIN PUBLIC KEY-----\n",
    "keys/key.pem": "-----BEGIN PRIVATE KEY-----\n",
}


def constructs(folder: Path) -> Path:
    """A folder with each construct that importers stumble over; the compose file."""
    for name, text in {"docker-compose.yml": CONSTRUCTS, **FILES}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "scripts" / "seed.sh").chmod(0o755)
    return folder / "docker-compose.yml"


def socks(folder: Path, images: dict[str, str] | None = None) -> str:
    """The shop in a folder: its compose file; with ``images`` for its upper-case names, that with the local ones."""
    shutil.copytree(SOCKS, folder, dirs_exist_ok=True)
    if images is None:
        return str(folder / "docker-compose.yml")
    text = (folder / "local.yml").read_text()
    for name, image in images.items():
        text = text.replace(f"image: {name}", f"image: {image}")
    (folder / "local.yml").write_text(text)
    return f"{folder / 'docker-compose.yml'}:{folder / 'local.yml'}"


def deployment(file: str, orchestrator: str, **settings: str) -> Deployment:
    """A compose file's application on three workers, or on the only one of Compose."""
    chosen = Settings.model_validate({"orchestrator": orchestrator, **settings})
    there = nodes(1 if orchestrator == "compose" else 3)
    return resolve(catalogue.load(file).application, chosen, there, {}, catalogue.software(), "foreign")
