"""Images as files: their bytes follow from what they are made of, and errors name the remedy."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access
from loadstone.infrastructure.images import archive, cache, layers, recipe
from loadstone.infrastructure.images.layers import LayerEntry
from loadstone.model.errors import PreflightError
from loadstone.model.software import built_in
from tests.infrastructure.image_files import (
    INTERPRETED,
    STATIC,
    config_of,
    contents,
    elf_file,
    image_id,
    layer_members,
    read_text,
)

# The archive


def test_the_same_binary_makes_the_same_bytes(stone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = images.build("stone")
    other = tmp_path / "elsewhere" / "stone"
    other.parent.mkdir()
    before = os.umask(0o077)
    shutil.copy(stone, other)
    other.chmod(0o755)
    os.utime(other, (1, 1))
    monkeypatch.setenv("LOADSTONE_STONE", str(other))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    try:
        second = images.build("stone")
    finally:
        os.umask(before)
    assert second != first
    assert second.name == first.name
    assert second.read_bytes() == first.read_bytes()


def test_another_binary_has_another_name_and_id(stone: Path) -> None:
    before = images.reference("stone"), image_id("stone")
    stone.write_bytes(elf_file(STATIC, after=b"second"))
    after = images.reference("stone"), image_id("stone")
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_an_archive_is_an_oci_layout_and_what_docker_loads(stone: Path) -> None:
    file = images.build("stone")
    found = contents(file)
    assert json.loads(found["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    [docker] = json.loads(found["manifest.json"])
    [listed] = json.loads(found["index.json"])["manifests"]
    for name, data in found.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"
    assert docker["RepoTags"] == [images.reference("stone")]
    assert listed["annotations"]["io.containerd.image.name"] == f"docker.io/{images.reference('stone')}"
    manifest = json.loads(found["blobs/sha256/" + listed["digest"].removeprefix("sha256:")])
    for descriptor in [listed, manifest["config"], *manifest["layers"]]:
        assert len(found["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]) == descriptor["size"]
    known = archive.read(file)
    for blob in (known.config, known.manifest, *known.layers):
        assert len(found["blobs/sha256/" + blob.digest.removeprefix("sha256:")]) == blob.size
    assert docker["Config"] == "blobs/sha256/" + manifest["config"]["digest"].removeprefix("sha256:")
    assert image_id("stone") == manifest["config"]["digest"]
    assert config_of(file)["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]
    assert docker["Layers"] == [
        "blobs/sha256/" + entry["digest"].removeprefix("sha256:") for entry in manifest["layers"]
    ]


def test_the_stone_image_holds_the_binary_and_runs_it_unprivileged(stone: Path) -> None:
    file = images.build("stone")
    there = layer_members(file, 0)
    assert list(there) == sorted(there)
    assert there["/stone"].size == stone.stat().st_size
    assert there["/stone"].mode == 0o755
    assert there["/tmp"].mode == 0o1777
    assert {member.mtime for member in there.values()} == {0}
    owners = {name: (member.uid, member.gid, member.uname) for name, member in there.items()}
    assert owners.pop("/data") == (65534, 65534, "")
    assert set(owners.values()) == {(0, 0, "")}
    image = config_of(file)
    assert (image["architecture"], image["os"]) == ("amd64", "linux")
    assert image["config"]["User"] == "65534:65534"
    assert image["config"]["Entrypoint"] == ["/stone"]
    assert "nobody:x:65534:65534:" in read_text(file, 0, "/etc/passwd")


def test_the_architecture_is_the_binary_s(stone: Path) -> None:
    stone.write_bytes(elf_file(STATIC, machine=183))
    assert config_of(images.build("stone"))["architecture"] == "arm64"


def test_no_name_is_latest_and_names_are_short(stone: Path) -> None:
    name, _, tag = images.reference("stone").partition(":")
    assert name == "loadstone/stone"
    assert len(tag) == 12
    assert set(tag) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    ("reference", "full"),
    [
        ("redis:7.0", "docker.io/library/redis:7.0"),
        ("redis", "docker.io/library/redis:latest"),
        ("docker.io/redis:7", "docker.io/library/redis:7"),
        ("loadstone/stone:1f", "docker.io/loadstone/stone:1f"),
        ("localhost/stone:1", "localhost/stone:1"),
        ("127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b:latest"),
        ("ghcr.io/a/b@sha256:00", "ghcr.io/a/b@sha256:00"),
    ],
)
def test_names_as_containerd_wants_them(reference: str, full: str) -> None:
    assert archive.full_name(reference) == full


# Layers

PARTS = st.text("abcdef.-", min_size=1, max_size=8).filter(lambda part: part not in (".", ".."))
PATHS = st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


@given(st.dictionaries(PATHS, st.text(max_size=50), max_size=12), st.randoms())
def test_a_layer_s_bytes_do_not_depend_on_the_order(files: dict[str, str], random: Any) -> None:
    # A path that is also another's folder cannot be a file.
    leaves = {path: text for path, text in files.items() if not any(longer.startswith(f"{path}/") for longer in files)}
    members = [layers.text(path, text) for path, text in leaves.items()]
    shuffled = random.sample(members, len(members))

    def written(some: list[LayerEntry]) -> bytes:
        out = io.BytesIO()
        layers.write(some, out)
        return out.getvalue()

    assert written(shuffled) == written(members)
    assert layers.fingerprint(shuffled) == layers.fingerprint(members)
    other = [*members, layers.text("/zz", "")]
    assert layers.fingerprint(other) != layers.fingerprint(members)


def test_a_file_that_changes_while_it_is_packed_is_noticed(stone: Path) -> None:
    cache.recipe_of("stone")
    facts = stone.stat()
    stone.write_bytes(elf_file(STATIC, after=b"FIRST"))
    os.utime(stone, ns=(facts.st_atime_ns, facts.st_mtime_ns))  # looks as it did
    with pytest.raises(PreflightError, match="stone changed while an image of it was made\n  try again"):
        images.build("stone")
    assert list(cache.folder().iterdir()) == []


# The cache


def test_an_image_is_made_once(stone: Path) -> None:
    printed: list[str] = []
    first = images.build("stone", printed.append)
    made = first.stat().st_ino
    assert images.build("stone", printed.append).stat().st_ino == made
    assert printed == ["making the image of stone"]


def test_old_images_of_the_name_go_when_a_new_one_is_made(stone: Path) -> None:
    old = images.build("stone")
    os.utime(old, (1, 1))
    stone.write_bytes(elf_file(STATIC, after=b"second"))
    recent = images.build("stone")
    other = recent.with_name("memcached-0123456789ab.tar")
    other.touch()
    os.utime(other, (1, 1))
    stone.write_bytes(elf_file(STATIC, after=b"third"))
    newest = images.build("stone")
    assert {file.name for file in cache.folder().iterdir()} == {recent.name, newest.name, other.name}


# What cannot be packed


def test_a_dynamic_binary_is_refused(stone: Path) -> None:
    stone.write_bytes(elf_file(INTERPRETED))
    with pytest.raises(PreflightError, match=r"stone is linked dynamically.*\n  build it with `make setup`, or .*CGO"):
        images.reference("stone")
    [finding] = images.findings(["stone"])
    assert finding.level == "error"
    assert finding.remedy.startswith("build it with `make setup`")


def test_a_script_is_refused(stone: Path) -> None:
    stone.write_text("#!/bin/sh\n")
    with pytest.raises(PreflightError, match="is no Linux program"):
        images.build("stone")


def test_a_store_that_is_not_installed_names_the_remedies(stone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(PreflightError, match=r"no image of mongodb can be made: .*\n.*`cluster\.images: official`"):
        images.reference("mongodb")
    [finding] = images.findings(["memcached", "nginx:1.25"])
    assert finding.what == "memcached"
    assert finding.message == "no image of memcached can be made: memcached is not installed here"
    assert images.findings(["memcached"], Access("docker", images="official")) == []


def test_an_unknown_name_is_no_image(stone: Path) -> None:
    with pytest.raises(PreflightError, match="no image 'redsi'; did you mean 'redis'"):
        images.reference("redsi")


def test_a_file_that_a_package_lacks_is_named(stone: Path) -> None:
    if shutil.which("memcached") is None:
        pytest.skip("needs memcached")
    software = built_in().software["memcached"]
    wrong = software.container.model_copy(
        update={"packaged": software.container.packaged.model_copy(update={"files": ["{folder}/no-such-*.so"]})}
    )
    with pytest.raises(PreflightError, match=r"no image of memcached can be made: there is no /.*/no-such-\*\.so\n"):
        recipe.of_store("memcached", software.model_copy(update={"container": wrong}))


# Names


def test_names_by_where_images_come_from(stone: Path) -> None:
    tag = images.reference("stone").rpartition(":")[2]
    official = Access("docker", images="official")
    assert images.reference("memcached", official) == "memcached:1.6"
    assert images.reference("stone", official) == f"loadstone/stone:{tag}"
    pushed = Access("docker", registry="http://registry.example.org:5000/lab/")
    assert images.reference("stone", pushed) == f"registry.example.org:5000/lab/stone:{tag}"
    assert images.reference("ghcr.io/a/b:1", pushed) == "ghcr.io/a/b:1"
