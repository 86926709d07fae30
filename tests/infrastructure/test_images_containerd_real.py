"""Images in a real containerd, as Kubernetes has it: the same archives, and what runs in them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.images import archive
from loadstone.model.errors import PreflightError
from tests.infrastructure.image_files import image_id
from tests.infrastructure.real_engines import containerd, ctr, need, packageable, registry, short_folder

pytestmark = [pytest.mark.docker, pytest.mark.root]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    need()
    with short_folder() as made:
        yield made


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[str]:
    with containerd(folder) as socket:
        yield socket


@pytest.fixture(scope="module")
def whats(folder: Path) -> list[str]:
    return packageable()


def test_containerd_takes_the_same_archives(engine: str, whats: list[str]) -> None:
    access = Access("kubernetes", engines={"worker-1": engine})
    delivered = images.deliver(access, whats)
    assert {what: image.id for what, image in delivered.items()} == {what: image_id(what) for what in whats}
    listed = ctr(engine, "images", "ls", "-q").split()
    assert sorted(listed) == sorted(f"docker.io/{images.reference(what)}" for what in whats)
    assert images.deliver(access, whats) == delivered

    # One of them runs; another has the libraries that it needs. Without control groups, as no folder of theirs is left.
    name = f"docker.io/{images.reference('stone')}"
    printed = ctr(engine, "run", "--rm", "--cgroup=", "--net-host", name, "ls-images-1", "/stone", "version")
    assert printed == subprocess.run([stone_binary(), "version"], capture_output=True, text=True, check=True).stdout
    if "memcached" in whats:
        name = f"docker.io/{images.reference('memcached')}"
        assert "memcached 1." in ctr(engine, "run", "--rm", "--cgroup=", name, "ls-images-2", "memcached", "--version")


def test_containerd_pulls(engine: str, folder: Path, whats: list[str]) -> None:
    with registry(folder) as host:
        access = Access("kubernetes", engines={"worker-1": engine}, registry=host)
        image = images.deliver(access, ["stone"])["stone"]
    contents = archive.read(images.build("stone"))
    name = images.reference("stone", access)
    assert image == images.Delivered(name, contents.config.digest, contents.manifest.digest)
    printed = r"redis:7\.0 cannot be pulled on worker-1: .*\n  set `cluster.images: packaged`"
    with pytest.raises(PreflightError, match=printed):
        images.deliver(Access("kubernetes", engines={"worker-1": engine}, images="official"), ["redis"])
