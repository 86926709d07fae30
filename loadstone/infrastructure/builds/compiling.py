"""One build with Go: under a lock, at low priority, the binary put in its place last."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.base import Say
from loadstone.infrastructure.builds.progress import Progress
from loadstone.infrastructure.builds.recipes import BuildRecipe, cache_folder
from loadstone.infrastructure.subprocesses import Watchdog
from loadstone.model.errors import PreflightError

_OLDEST_GO = (1, 21)
"""The first version that downloads the newer toolchain which a module requires."""
_GO_HOME = "/usr/local/go/bin"
"""Where Go's own instructions install it; found there without being on the PATH."""
_SILENT_S = 3600.0
"""The longest that Go may print nothing: it links, or fetches modules over a slow line."""
_TELLING = 8
"""Lines of Go's that an error shows; the last ones say why."""


def obstacle(recipe: BuildRecipe) -> tuple[str, str] | None:
    """What this machine lacks for a build, and the remedy; None if it has all."""
    go = _go()
    if not go:
        return "no `go` is installed", "install Go 1.26 or newer from https://go.dev/dl"
    version = _go_version(go)
    if version is None or version < _OLDEST_GO:
        problem = "does not tell its version" if version is None else f"is version {version[0]}.{version[1]}"
        return f"{go} {problem}", "install Go 1.26 or newer from https://go.dev/dl and put it first on the PATH"
    compiler = (os.environ.get("CC") or "gcc").split()[0]
    if recipe.c_compiler and shutil.which(compiler) is None:
        return f"no C compiler `{compiler}` is installed", "sudo apt-get install -y gcc libc6-dev"
    return None


def build(recipe: BuildRecipe, say: Say) -> Path:
    """The binary in the cache, built if it is not there yet; raises PreflightError where that cannot be."""
    if recipe.cached.exists():
        return recipe.cached
    title = f"{recipe.name} {recipe.version}"
    if lacking := obstacle(recipe):
        raise PreflightError(f"{title} cannot be built: {lacking[0]}", lacking[1])
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with _locked(lambda: say(f"{title}: waiting for another build to end")) as lock:
            if not recipe.cached.exists():  # the one that we waited for may have built it
                _compile(recipe, Progress(title, _modules(recipe), say), lock)
    except OSError as error:
        message = f"{title} cannot be built: {error.strerror}: {error.filename or cache_folder()}"
        raise PreflightError(
            message, "make room or give rights there, or name another folder in XDG_CACHE_HOME"
        ) from None
    return recipe.cached


def _compile(recipe: BuildRecipe, progress: Progress, lock: IO[str]) -> None:
    # Compiled packages are in Go's cache: builds share the standard library, and the next try goes on after a failure.
    part = cache_folder() / f".{recipe.name}.part"
    log = cache_folder() / f"{recipe.name}.log"
    environment = {**os.environ, **recipe.environment}
    listing = ["list", *recipe.options, "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", recipe.package]
    building = ["build", *recipe.options, "-v", "-p", "2", "-o", str(part), recipe.package]
    try:
        with log.open("w") as to:
            work = _Work(recipe, environment, to, lock)
            work.run(listing, progress.listed)
            progress.compiling()
            work.run(building, progress.built)
        recipe.cached.parent.mkdir(exist_ok=True)
        os.replace(part, recipe.cached)
    finally:
        part.unlink(missing_ok=True)
    log.unlink()


class _Work:
    """Runs Go in the folder of a module, with all it prints in the log."""

    def __init__(self, recipe: BuildRecipe, environment: dict[str, str], log: IO[str], lock: IO[str]) -> None:
        self._recipe = recipe
        self._environment = environment
        self._log = log
        self._lock = lock

    def run(self, argv: list[str], line_by_line: Callable[[str], None]) -> None:
        """Run ``go`` so, passing on each line that it prints; raises PreflightError with the last ones if it fails."""
        last: list[str] = []
        with (
            subprocess.Popen(
                ["nice", "-n", "5", _go(), *argv],
                cwd=self._recipe.module,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                pass_fds=(self._lock.fileno(),),  # The lock is held while Go runs, even if this process ends.
            ) as process,
            Watchdog(process, _SILENT_S) as watchdog,
        ):
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    watchdog.renew()
                    self._log.write(line)
                    last = [*last, line.rstrip()][-_TELLING:]
                    line_by_line(line.strip())
            except BaseException:
                process.terminate()
                raise
        if watchdog.expired:
            raise PreflightError(f"`go {argv[0]}` for {self._recipe.name} printed nothing for {_SILENT_S:g} s")
        if process.returncode != 0:
            output = "".join(f"\n    {line}" for line in last) or f" exit status {process.returncode}"
            raise PreflightError(
                f"{self._recipe.name} {self._recipe.version} could not be built; `go {argv[0]}` says:{output}",
                f"all of it is in {self._log.name}; a build needs Go's module proxy (GOPROXY) and room on the disk",
            )


@contextmanager
def _locked(wait: Callable[[], None]) -> Iterator[IO[str]]:
    """Alone of all processes in the cache; ``wait`` is called if another one is there."""
    with open(cache_folder() / ".lock", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as lock:
        os.fchmod(lock.fileno(), 0o600)  # another user who can open it can lock it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _go() -> str:
    """Go's program, empty if there is none."""
    return shutil.which("go", path=f"{os.environ.get('PATH', os.defpath)}:{_GO_HOME}") or ""


def _go_version(go: str) -> tuple[int, int] | None:
    printed = subprocesses.run([go, "version"]).stdout
    found = re.search(r"\bgo(\d+)\.(\d+)", printed)
    return (int(found[1]), int(found[2])) if found else None


def _modules(recipe: BuildRecipe) -> int:
    """How many modules a build may have to fetch: those that go.mod requires."""
    text = (recipe.module / "go.mod").read_text(encoding="utf-8")
    return len(re.findall(r"^(?:require |\t)[^\s=]+ v\S+(?: // indirect)?$", text, re.MULTILINE))
