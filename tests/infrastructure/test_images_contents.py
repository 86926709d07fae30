"""What is in images: libraries as the loader finds them, stores with their data."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadstone.infrastructure import images
from loadstone.infrastructure.images import archive, elf, recipe
from loadstone.model.errors import PreflightError
from loadstone.model.software import STORE_PASSWORD, built_in
from tests.infrastructure.image_files import DYNAMIC, config_of, elf_file, layer_members, read_text

# Libraries

LDD = """\
\tlinux-vdso.so.1 (0x00007fa80cda5000)
\tlibevent-2.1.so.7 => /lib/x86_64-linux-gnu/libevent-2.1.so.7 (0x00007fa80cce0000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fa80c41e000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007fa80cda7000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fa80c41e000)
"""


def test_ldd_tells_libraries_and_loader_once() -> None:
    paths = elf.parse_ldd(LDD, Path("/usr/bin/memcached"))
    assert [str(path) for path in paths] == [
        "/lib/x86_64-linux-gnu/libevent-2.1.so.7",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
    ]
    assert elf.parse_ldd("\tstatically linked\n", Path("/x")) == []
    musl = "\t/lib/ld-musl-x86_64.so.1 (0x7f)\n\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f)\n"
    assert elf.parse_ldd(musl, Path("/x")) == [Path("/lib/ld-musl-x86_64.so.1")]


def test_a_library_that_is_missing_is_named() -> None:
    with pytest.raises(PreflightError, match=r"/usr/bin/x needs libz\.so\.1, which is not installed\n  reinstall"):
        elf.parse_ldd("\tlibz.so.1 => not found\n", Path("/usr/bin/x"))


KINDS = st.lists(st.integers(0, 2**32 - 1) | st.sampled_from([2, 3]), max_size=6).map(tuple)


@given(KINDS, st.sampled_from([(62, "amd64"), (183, "arm64"), (4711, "machine-4711")]), st.binary(max_size=50))
def test_elf_headers_are_read(kinds: tuple[int, ...], machine: tuple[int, str], after: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(elf_file(kinds, machine[0], after))
        file.flush()
        assert elf.inspect(Path(file.name)) == elf.Elf(machine[1], 3 in kinds, 2 in kinds)


@example(bytes(33) + b"\x80" + bytes(22), b"\x7fELF\x02\x01")  # a table beyond what any file can have
@given(st.binary(max_size=300), st.sampled_from([b"\x7fELF", b"\x7fELF\x02\x01", elf_file(DYNAMIC)[:70]]))
def test_no_file_is_too_odd_for_its_header(data: bytes, start: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(start + data)
        file.flush()
        assert isinstance(elf.inspect(Path(file.name)), elf.Elf | None)
        file.seek(0)
        file.write(b"#")
        file.flush()
        assert elf.inspect(Path(file.name)) is None


# Stores

PROGRAMS = {"redis": "redis-server"}
"""Where the program has another name than the software."""


@pytest.mark.parametrize("what", ["memcached", "redis", "postgres"])
def test_a_store_s_image_has_all_that_its_program_needs(what: str, stone: Path) -> None:
    if images.findings([what])[0].level == "error":
        pytest.skip(f"needs {what}")
    file = images.build(what)
    base, store = layer_members(file, 0), layer_members(file, 1)
    assert archive.read(file).layers[0] == archive.read(images.build("stone")).layers[0]
    assert "/stone" in base
    image = config_of(file)["config"]
    environment = dict(variable.split("=", 1) for variable in image["Env"])
    software = built_in().software[what]
    assert image["Cmd"] == software.container.command
    assert not any(STORE_PASSWORD in variable for variable in image["Env"]), "each deployment has its own"
    program = f"{environment['PATH'].split(':')[0]}/{PROGRAMS.get(what, what)}"
    assert store[program].mode == 0o755
    assert store[program].isfile()
    libraries = elf.libraries(Path(program).resolve())
    assert libraries
    for library in libraries:
        assert store[str(library)].isfile(), "links are followed"
        assert store[str(library)].size == library.stat().st_size
    assert image["User"] != "0:0"
    assert image["Labels"]["org.opencontainers.image.version"][0].isdigit()


def test_postgres_has_its_data_already(stone: Path) -> None:
    if images.findings(["postgres"])[0].level == "error":
        pytest.skip("needs postgres")
    file = images.build("postgres")
    store, data = layer_members(file, 1), "/var/lib/postgresql/data"
    inside = {path: member for path, member in store.items() if path.startswith(data)}
    assert f"{data}/PG_VERSION" in inside
    assert {member.uid for member in inside.values()} == {999}
    assert inside[data].mode == 0o700
    assert not any(member.mode & 0o077 for member in inside.values())
    assert store["/var/lib/postgresql"].uid == 0
    assert read_text(file, 1, f"{data}/postgresql.conf").endswith(
        "listen_addresses = '*'\nunix_socket_directories = ''\n"
    )
    assert read_text(file, 1, f"{data}/pg_hba.conf").endswith("host all all all scram-sha-256\n")
    assert "postgres:x:999:999:" in read_text(file, 1, "/etc/passwd")
    assert any(path.endswith("/timezonesets/Default") for path in store)
    assert config_of(file)["config"]["StopSignal"] == "SIGINT"


def test_data_that_cannot_be_made_is_reported(stone: Path) -> None:
    data = recipe.Data("/data", ["/bin/sh", "-c", "echo no room for {data} >&2; exit 1"], None, {})
    with (
        pytest.raises(PreflightError, match=r"no image of x: `/bin/sh .*` failed: no room for /.*/data"),
        data.made("x"),
    ):
        pass


def test_made_data_keeps_its_permissions_and_is_gone_after(stone: Path) -> None:
    script = "cd {data}; mkdir sub; echo 1 >sub/file; chmod 640 sub/file; ln -s file sub/link; echo a >conf"
    with recipe.Data("/data", ["/bin/sh", "-c", script], None, {"conf": "b\n"}).made("x") as members:
        found = {member.path: member for member in members}
        assert list(found) == ["/data", "/data/conf", "/data/sub", "/data/sub/file", "/data/sub/link"]
        assert found["/data"].mode == 0o700
        assert found["/data/sub/file"].mode == 0o640
        assert found["/data/sub/link"].link == "file"
        source = found["/data/conf"].source
        assert source is not None and source.read_text() == "a\nb\n"
    assert not source.exists()
