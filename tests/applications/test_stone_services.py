"""An application names services of ``stone`` that there are."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from loadstone.applications import catalogue, stone_services
from loadstone.infrastructure.binary import stone_binary
from loadstone.model.errors import InputError

NEARBY = """\
name: nearby
entry: {service: geo, port: grpc}
services:
  geo:
    tier: logic
    runs: {stone: STONE}
    ports: {grpc: 8083, admin: 9083}
workloads: {nearby: {operations: {near: {path: /near}}}}
default_workload: nearby
"""


def test_the_list_is_that_of_the_binary() -> None:
    text = subprocess.run([stone_binary(), "serve", "--help"], capture_output=True, text=True, check=True).stdout
    assert list(stone_services.NAMES) == re.findall(r"^  ([a-z]+/[a-z-]+) ", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "what_there_is"),
    [
        ("hotel/goe", "did you mean 'hotel/geo'?"),
        ("shop/nothing", "known: shop/order, shop/payment, shop/user"),
        ("x/y", "known: docstore/queue, hotel/attractions, "),
    ],
)
def test_a_service_that_is_not_there_is_refused_with_what_is(tmp_path: Path, name: str, what_there_is: str) -> None:
    file = tmp_path / "application.yaml"
    file.write_text(NEARBY.replace("STONE", name))
    with pytest.raises(InputError) as caught:
        catalogue.load(str(file))
    assert str(caught.value).startswith(
        f"{file}:6: services.geo.runs.stone: stone has no service {name!r}; {what_there_is}"
    )
