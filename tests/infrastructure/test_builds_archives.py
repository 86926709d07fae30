"""Official archives from a server of the test's: what is installed, and what is not."""

from __future__ import annotations

import hashlib
import io
import platform
import re
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from loadstone.infrastructure import builds
from loadstone.infrastructure.builds import archives, compiling, recipes
from loadstone.infrastructure.builds.archives import Archive
from loadstone.infrastructure.builds.recipes import RECIPES
from loadstone.model.errors import PreflightError

PROGRAM = b"\x7fELF of consul" * 1000


def packed(name: str = "consul", content: bytes = PROGRAM) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
        archive.writestr("LICENSE.txt", "MPL")
    return buffer.getvalue()


@dataclass
class Vendor:
    """A release; ``archive`` is sent, ``published`` is what the list of checksums is about."""

    address: str = ""
    archive: bytes = field(default_factory=packed)
    published: bytes = field(default_factory=packed)
    length: int | None = None
    """What the server announces, if it is not the truth."""
    missing: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    """The ends of paths that are not answered before the test ends."""
    requested: list[str] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def release(self) -> Archive:
        return Archive("consul", "1.14.11", f"{self.address}/{{name}}/{{version}}")


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    """An empty cache, no Go, and a recipe of Consul whose archive is the test's."""
    made = Vendor()
    with serving(made):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(compiling, "_GO_HOME", str(tmp_path))
        monkeypatch.setitem(RECIPES, "consul", replace(RECIPES["consul"], archive=made.release))
        yield made


@contextmanager
def serving(vendor: Vendor) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            vendor.requested.append(name)
            sums = f"{'0' * 64}  consul_1.14.11_darwin_amd64.zip\n"
            sums += f"{hashlib.sha256(vendor.published).hexdigest()}  {vendor.release.file}\n"
            body = sums.encode() if name.endswith("SHA256SUMS") else vendor.archive
            if name.endswith(vendor.missing or "\0"):
                self.send_error(404)
                return
            if name.endswith("SUMS") and name.endswith(vendor.silent or "\0"):
                vendor.done.wait(60)
                return
            self.send_response(200)
            announced = vendor.length if name.endswith(".zip") and vendor.length else len(body)
            self.send_header("Content-Length", str(announced))
            self.end_headers()
            if name.endswith(vendor.silent or "\0"):
                self.wfile.write(body[:10])
                self.wfile.flush()
                vendor.done.wait(60)
                return
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            name = self.path.rpartition("/")[2]
            vendor.requested.append(name)
            if name.endswith(vendor.silent or "\0"):
                vendor.done.wait(60)
                return
            self.send_response(404 if name.endswith(vendor.missing or "\0") else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        vendor.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield
        finally:
            vendor.done.set()
            server.shutdown()
            thread.join()


def refusal() -> str:
    """Why the archive is not installed: it is built instead, which fails without Go. Nothing of it is left."""
    lines: list[str] = []
    with pytest.raises(PreflightError, match="no `go` is installed"):
        builds.binary("consul", lines.append)
    cache = recipes.cache_folder()
    assert [path for path in cache.glob("consul-*/*") if path.is_file()] == []
    assert not (cache / "checksums").exists()
    return lines[-1] if lines else ""


def test_an_archive_with_the_published_checksum_is_installed_once(vendor: Vendor) -> None:
    finding = builds.missing("consul")
    assert (finding.level, "will be fetched from 127.0.0.1:" in finding.message) == ("warning", True)
    path = builds.binary("consul", lambda _: None)
    assert path == RECIPES["consul"].official and path.read_bytes() == PROGRAM
    assert path.stat().st_mode & 0o777 == 0o755 and list(path.parent.iterdir()) == [path]
    requested = len(vendor.requested)
    assert builds.binary("consul", pytest.fail) == path
    assert builds.missing("consul").level == "ok"
    assert len(vendor.requested) == requested


def test_another_archive_than_the_published_one_is_refused(vendor: Vendor) -> None:
    vendor.archive = packed(content=b"something else")
    why = refusal()
    wanted, sent = (hashlib.sha256(content).hexdigest() for content in (vendor.published, vendor.archive))
    assert f"{vendor.release.url} has SHA-256 {sent} " in why and f"not the published {wanted}; it is built" in why


def test_a_truncated_archive_is_refused(vendor: Vendor) -> None:
    vendor.length = len(vendor.archive)
    vendor.archive = vendor.archive[:-20]
    assert "cannot be fetched: " in refusal()
    vendor.length = None
    assert "not the published" in refusal()


def test_an_archive_without_the_program_is_refused(vendor: Vendor) -> None:
    vendor.archive = vendor.published = packed("other")
    assert "holds no program consul" in refusal()
    vendor.archive = vendor.published = b"no zip at all"
    assert "holds no program consul" in refusal()


def test_a_release_that_is_not_there_is_built_without_a_word(vendor: Vendor) -> None:
    vendor.missing = ("SHA256SUMS",)
    assert refusal() == ""
    vendor.missing = (".zip",)
    assert "cannot be fetched: 404" in refusal()


def test_a_host_that_does_not_answer_is_tried_once_an_hour(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_ANSWER_S", 0.2)
    vendor.silent = ("SUMS",)
    assert refusal() == ""
    vendor.silent = ()
    assert refusal() == "" and len(vendor.requested) == 1
    assert builds.missing("consul").level == "error"
    an_hour_later = time.time() + archives._REMEMBERED_S
    monkeypatch.setattr("time.time", lambda: an_hour_later)
    assert builds.binary("consul", lambda _: None).read_bytes() == PROGRAM


def test_an_unknown_host_is_out_of_reach(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = Archive("consul", "1.14.11", "https://no-such-host.invalid/{name}")
    monkeypatch.setitem(RECIPES, "consul", replace(RECIPES["consul"], archive=nowhere))
    assert refusal() == ""


@pytest.mark.parametrize("limit", ["_STALLED_S", "_FETCHED_WITHIN_S"])
def test_an_archive_that_does_not_arrive_in_time_is_refused(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(archives, limit, 0.2 if limit == "_STALLED_S" else -1.0)
    vendor.silent = (".zip",) if limit == "_STALLED_S" else ()
    assert ("cannot be fetched: " if limit == "_STALLED_S" else "has not arrived within") in refusal()


def test_a_checksum_that_has_changed_since_is_refused(vendor: Vendor) -> None:
    first = builds.binary("consul", lambda _: None)
    first.unlink()
    vendor.archive = vendor.published = packed(content=b"replaced by somebody")
    lines: list[str] = []
    with pytest.raises(PreflightError):
        builds.binary("consul", lines.append)
    assert "but " in lines[-1] and "has another checksum since an earlier fetch" in lines[-1]
    assert not first.exists()


@pytest.fixture
def pinned(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> Vendor:
    """The same vendor, whose archive's checksum the recipe has."""
    machine = platform.machine()
    pins = {archives._ARCHITECTURES.get(machine, machine): hashlib.sha256(vendor.archive).hexdigest()}
    monkeypatch.setitem(RECIPES, "consul", replace(RECIPES["consul"], archive=replace(vendor.release, pins=pins)))
    return vendor


def test_a_pinned_archive_needs_no_list_of_the_vendor_s(pinned: Vendor) -> None:
    pinned.missing = ("SHA256SUMS",)
    assert "will be fetched from 127.0.0.1:" in builds.missing("consul").message
    assert builds.binary("consul", lambda _: None).read_bytes() == PROGRAM
    assert set(pinned.requested) == {pinned.release.file}
    assert not (recipes.cache_folder() / "checksums").exists(), "nothing of it is learnt at first use"


def test_another_archive_than_the_pinned_one_is_refused_whatever_its_vendor_publishes(pinned: Vendor) -> None:
    pinned.archive = pinned.published = packed(content=b"replaced by somebody")
    assert ", not the pinned " in refusal()


def test_a_pinned_archive_that_is_out_of_reach_is_built(pinned: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned.missing = (".zip",)
    assert refusal() == ""
    monkeypatch.setattr(archives, "_ANSWER_S", 0.2)
    pinned.missing, pinned.silent = (), (".zip",)
    assert refusal() == ""
    tried = len(pinned.requested)
    assert refusal() == "" and len(pinned.requested) == tried, "not again within an hour"


def test_the_pins_are_sha_256_of_both_architectures() -> None:
    pins = RECIPES["nomad"].archive.pins  # type: ignore[union-attr]
    assert set(pins) == {"amd64", "arm64"} and all(re.fullmatch("[0-9a-f]{64}", pin) for pin in pins.values())


def test_a_cache_without_room_is_named(vendor: Vendor, tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(PreflightError, match=r"consul 1.14.11 cannot be kept: Not a directory: .*\n.*XDG_CACHE_HOME"):
        builds.binary("consul", lambda _: None)
