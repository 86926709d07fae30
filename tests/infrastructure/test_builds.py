"""Binaries of cluster software: what is taken, what is built, and what is left when a build fails.

``go`` is a fake here, and no archive is in reach (those are in ``test_builds_archives.py``). Only the last test runs
the real binaries, where they have been built.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.infrastructure.builds import archives, binary, compiling, missing, recipes
from loadstone.infrastructure.builds.__main__ import main
from loadstone.infrastructure.builds.progress import Progress
from loadstone.infrastructure.builds.recipes import RECIPES, BuildRecipe
from loadstone.model.errors import PreflightError

GO = """#!/bin/sh
echo "$@" >> {calls}
case "$1" in
version) echo "go version {version} linux/amd64" ;;
list)
    echo "go: downloading example.com/fast v1.2.3"
    printf 'fast\\nslow\\nexample.com/main\\n' ;;
build)
    printf 'fast\\nslow\\nexample.com/main\\n'
    while [ "$1" != -o ]; do shift; done
    echo "#!/bin/sh" > "$2"
    chmod +x "$2"
    {after} ;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first folder of the PATH, empty; the cache is empty too, and no real Go is in reach."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for tool in ("sh", "nice", "chmod"):
        (folder / tool).symlink_to(Path(shutil.which(tool) or "").resolve())
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiling, "_GO_HOME", str(folder))
    monkeypatch.setattr(archives, "checksum", lambda *_: "")
    return folder


def put(folder: Path, name: str, script: str) -> Path:
    """A program of that name."""
    program = folder / name
    program.write_text(script)
    program.chmod(0o755)
    return program


def put_go(folder: Path, version: str = "go1.26.0", after: str = "true") -> Path:
    """A Go that compiles three packages; ``after`` is what it does in the end. Returns the list of its calls."""
    calls = folder / "calls"
    calls.touch()
    put(folder, "go", GO.format(calls=calls, version=version, after=after))
    return calls


def verbs(calls: Path) -> list[str]:
    return [line.split()[0] for line in calls.read_text().splitlines() if not line.startswith("version")]


def left(cache: Path) -> set[str]:
    """What a build left in the cache, other than its lock."""
    return {path.name for path in cache.iterdir()} - {".lock"}


@pytest.mark.parametrize(
    ("name", "output"),
    [("nomad", "Nomad v1.6.5+ent"), ("nomad", "Nomad v1.6.1"), ("consul", "Consul v1.14.11\nRevision x")],
)
def test_a_program_on_the_path_of_the_same_minor_version_is_taken(programs: Path, name: str, output: str) -> None:
    calls = put_go(programs)
    there = put(programs, name, f"#!/bin/sh\necho '{output}'")
    assert binary(name, pytest.fail) == there
    finding = missing(name)
    assert (finding.level, finding.message) == ("ok", f"{there} {output.split()[1].removeprefix('v')}")
    assert verbs(calls) == []


@pytest.mark.parametrize(
    ("name", "script", "version"),
    [
        ("nomad", "echo Nomad v1.5.9", "1.5.9"),
        ("nomad", "echo Nomad v1.16.3", "1.16.3"),
        ("consul", "echo Consul v1.20.1", "1.20.1"),
        ("consul", "echo Consul of unknown age", "of an unknown version"),
        ("consul", "exit 1", "of an unknown version"),
    ],
)
def test_a_program_of_another_version_is_passed_over(programs: Path, name: str, script: str, version: str) -> None:
    put_go(programs)
    put(programs, "gcc", "#!/bin/sh")
    there = put(programs, name, f"#!/bin/sh\n{script}")
    finding = missing(name)
    assert finding.level == "warning"
    assert f"is not there ({there} is {version}) and will be built, once: some" in finding.message
    assert finding.remedy == f"to do it ahead: {sys.executable} -m loadstone.infrastructure.builds {name}"
    assert binary(name, lambda _: None) == RECIPES[name].cached


def test_a_program_called_kubernetes_on_the_path_is_ignored(programs: Path) -> None:
    put_go(programs)
    put(programs, "kubernetes", "#!/bin/sh\necho v1.31.4")
    assert binary("kubernetes", lambda _: None) == RECIPES["kubernetes"].cached


def test_a_binary_is_built_once_and_nothing_else_is_left(programs: Path) -> None:
    calls = put_go(programs)
    messages: list[str] = []
    built = binary("consul", messages.append)
    assert built == RECIPES["consul"].cached and built.read_text() == "#!/bin/sh\n"
    assert messages[-1] == "consul 1.14.11: 3 of 3 packages, linking"
    assert binary("consul", pytest.fail) == built
    assert missing("consul").message == f"{built} 1.14.11"
    assert verbs(calls) == ["list", "build"]
    assert left(recipes.cache_folder()) == {built.parent.name}


def test_what_is_in_the_cache_needs_no_go_and_does_not_wait(programs: Path) -> None:
    built = RECIPES["nomad"].cached
    built.parent.mkdir(parents=True)
    built.touch()
    with (recipes.cache_folder() / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert binary("nomad", pytest.fail) == built
    assert missing("nomad").message == f"{built} 1.6.3"


def test_go_gets_the_options_of_a_reproducible_build(programs: Path) -> None:
    calls = put_go(programs, after='[ "$CGO_ENABLED$GOWORK$GOFLAGS" = 0off ]')
    binary("kubernetes", lambda _: None)
    options = calls.read_text().splitlines()[-1]
    for option in ("-mod=readonly", "-trimpath", "-ldflags=-s -w", "-p 2", "component-base/version.gitVersion=v1.31.4"):
        assert option in options


def test_the_place_in_the_cache_changes_with_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place(stamp: str = "1") -> Path:
        return replace(RECIPES["consul"], stamps={"main.v": stamp}).cached

    monkeypatch.setattr(BuildRecipe, "module", tmp_path)
    (tmp_path / "go.mod").write_text("module a")
    (tmp_path / "main.go").write_text("package main")
    places = [place()]
    (tmp_path / "main.go.orig").write_text("package old")
    assert place() == places[0] and places[0].name == "consul"
    places.append(place(stamp="2"))
    (tmp_path / "go.mod").write_text("module b")
    places.append(place())
    (tmp_path / "main.go").rename(tmp_path / "other.go")
    places.append(place())
    (tmp_path / "go.sum").write_text("")
    places.append(place())
    assert len(set(places)) == 5


def test_a_failed_build_reports_the_end_of_go_s_output_and_keeps_all_of_it(programs: Path) -> None:
    lines = "\\n".join(f"line {number}" for number in range(1, 11))
    put_go(programs, after=f"printf '{lines}\\n'; exit 1")
    with pytest.raises(PreflightError) as failure:
        binary("consul", lambda _: None)
    log = recipes.cache_folder() / "consul.log"
    shown = "\n".join(f"    line {number}" for number in range(3, 11))
    message = str(failure.value)
    assert message.startswith(f"consul 1.14.11 could not be built; `go build` says:\n{shown}\n  all of it is in {log};")
    assert "line 1\nline 2\n" in log.read_text()
    assert left(recipes.cache_folder()) == {"consul.log"}
    assert missing("consul").level == "warning"


def test_a_listing_that_fails_is_reported_as_well(programs: Path) -> None:
    put(programs, "go", '#!/bin/sh\n[ "$1" = version ] && echo go1.26.0 && exit\necho "dial tcp: no such host"; exit 1')
    with pytest.raises(PreflightError, match=r"`go list` says:\n    dial tcp: no such host\n.*GOPROXY"):
        binary("consul", lambda _: None)


def test_a_second_process_waits_and_finds_what_the_first_has_built(programs: Path) -> None:
    calls = put_go(programs)
    target = RECIPES["consul"].cached
    recipes.cache_folder().mkdir(parents=True)
    waiting = threading.Event()
    messages: list[str] = []

    def say(text: str) -> None:
        messages.append(text)
        waiting.set()

    with (recipes.cache_folder() / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        found: list[Path] = []
        second = threading.Thread(target=lambda: found.append(binary("consul", say)))
        second.start()
        assert waiting.wait(60)
        target.parent.mkdir()
        target.touch()
    second.join()
    assert (found, messages, verbs(calls)) == ([target], ["consul 1.14.11: waiting for another build to end"], [])


@pytest.mark.parametrize(
    ("name", "go", "lacking", "remedy"),
    [
        ("consul", None, "no `go` is installed", "https://go.dev/dl"),
        ("consul", "go1.19.8", "go is version 1.19", "put it first on the PATH"),
        ("consul", "devel", "go does not tell its version", "put it first on the PATH"),
        ("nomad", "go1.26.0", "no C compiler `gcc` is installed", "apt-get install -y gcc"),
    ],
)
def test_what_a_build_lacks_is_reported_before(
    programs: Path, name: str, go: str | None, lacking: str, remedy: str
) -> None:
    if go:
        put_go(programs, version=go)
    finding = missing(name)
    assert finding.level == "error" and lacking in finding.message and remedy in finding.remedy
    with pytest.raises(PreflightError) as refusal:
        binary(name, pytest.fail)
    assert lacking in str(refusal.value) and remedy in str(refusal.value)


def test_a_cache_that_cannot_be_written_is_named(programs: Path, tmp_path: Path) -> None:
    put_go(programs)
    (tmp_path / "cache").touch()
    with pytest.raises(PreflightError, match=r"Not a directory: .*/cache/loadstone.*\n.*XDG_CACHE_HOME"):
        binary("consul", pytest.fail)


def test_an_unknown_name_is_refused(programs: Path) -> None:
    with pytest.raises(PreflightError, match=r"'podman'\n.*nomad, consul, kubernetes"):
        missing("podman")


def test_progress_tells_modules_packages_and_the_time_left() -> None:
    now = 0.0
    messages: list[str] = []
    progress = Progress("x 1", 3, messages.append, lambda: now)
    for line in (
        "go: downloading a v1",
        "go: downloading b v1",
        "go: warning: odd",
        "p1",
        "p2",
        "p3",
        "p4",
        "p5",
        "p6",
    ):
        progress.listed(line)
    progress.compiling()
    for at, line in ((0, "p2"), (0.5, "p1"), (6, "p4"), (6.5, "# p5"), (300, "p5"), (300.1, "p3"), (300.2, "p6")):
        now = at
        progress.built(line)
    assert messages == [
        "x 1: fetching modules, 1 of at most 3",
        "x 1: 1 of 6 packages",
        "x 1: 3 of 6 packages, about 6 s left",
        "x 1: 4 of 6 packages, about 2 min left",
        "x 1: 6 of 6 packages, linking",
    ]


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1), st.lists(st.sampled_from("abcdefgh"), max_size=20)
)
def test_progress_counts_each_package_once(waiting: list[str], printed: list[str]) -> None:
    """Whatever Go prints: the count says how many of those that were to be compiled have been begun."""
    ticks = iter(range(1000))
    messages: list[str] = []
    progress = Progress("x", 0, messages.append, lambda: next(ticks))
    for line in waiting:
        progress.listed(line)
    progress.compiling()
    for line in printed:
        progress.built(line)
    counts = [int(text.split()[1]) for text in messages]
    assert counts == list(range(1, len(set(waiting) & set(printed)) + 1))


def test_the_command_builds_what_it_names(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_go(programs)
    assert main(["consul", "kubernetes"]) == 0
    last = [line for line in capsys.readouterr().out.splitlines() if "/" in line]
    assert last == [f"{name}: {RECIPES[name].cached}" for name in ("consul", "kubernetes")]
    assert main(["podman"]) == 3
    assert capsys.readouterr().err.startswith("error: cannot build 'podman'\n")


def test_without_a_name_only_what_clusters_need_is_built(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_go(programs)
    put(programs, "gcc", "#!/bin/sh")
    assert main([]) == 0
    built = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines() if "/" in line]
    assert built == ["nomad", "consul", "kubernetes"]


def test_our_modules_are_formatted_and_none_of_their_sums_is_missing() -> None:
    for recipe in RECIPES.values():
        assert (recipe.module / "go.sum").stat().st_size > 10_000
        if gofmt := shutil.which("gofmt"):
            assert subprocess.run([gofmt, "-l", recipe.module], capture_output=True, text=True).stdout == ""


@pytest.mark.nomad
@pytest.mark.kubernetes
@pytest.mark.parametrize(
    ("name", "arguments", "first"),
    [
        ("nomad", ["version"], "Nomad v1.6."),
        ("consul", ["version"], "Consul v1.14."),
        ("kubernetes", ["kubelet", "--version"], "Kubernetes v1.31.4"),
        ("kubernetes", ["kube-apiserver", "--version"], "Kubernetes v1.31.4"),
        ("kubernetes", ["kube-controller-manager", "--version"], "Kubernetes v1.31.4"),
        ("kubernetes", ["kube-scheduler", "--version"], "Kubernetes v1.31.4"),
        ("kubernetes", ["kube-proxy", "--version"], "Kubernetes v1.31.4"),
        ("kubernetes", ["kubeadm", "version", "-o", "short"], "v1.31.4"),
        ("kubernetes", ["kubectl", "version", "--client"], "Client Version: v1.31.4"),
        ("kubernetes", ["etcd", "--version"], "etcd Version: 3.5.14"),
        ("kubernetes", ["coredns", "-version"], "CoreDNS-1.11.3"),
    ],
)
def test_the_real_binaries_say_their_versions(name: str, arguments: list[str], first: str) -> None:
    if (finding := missing(name)).level != "ok":
        pytest.skip(f"{finding.message}; {finding.remedy}")
    done = subprocess.run([binary(name, print), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(first)
