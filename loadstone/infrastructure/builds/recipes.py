"""What is built, and how: one Go module of our own for each program, in the folder of its name."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from loadstone.infrastructure.builds.archives import Archive
from loadstone.model.errors import PreflightError


@dataclass(frozen=True, kw_only=True)
class BuildRecipe:
    """How one program is built, and what to expect of it: measured once, on a busy machine of two cores."""

    name: str
    version: str
    package: str
    """The Go package of its ``main``, as seen from the module's folder."""
    stamps: dict[str, str]
    """Variables that the linker sets, by full name: what the program says of its version."""
    c_compiler: bool = False
    on_path: bool = True
    """Whether a program of this name on the PATH is the same program."""
    optional: bool = False
    """Whether it is built only where it is named explicitly."""
    archive: Archive | None = None
    """The official release, where it is one program too."""
    cpu_s: int
    """CPU seconds that the build takes."""
    download_mb: int
    """Modules that Go fetches for it."""
    disk_mb: int
    """Disk for building: modules, packed and unpacked, and compiled packages. Go removes the latter after some
    days without use, and modules with ``go clean -modcache``."""

    @property
    def module(self) -> Path:
        """The folder of the Go module."""
        return Path(__file__).parent / self.name

    @property
    def options(self) -> list[str]:
        """Those of ``go build`` that make a difference to the binary."""
        stamps = " ".join(f"-X {variable}={value}" for variable, value in self.stamps.items())
        return ["-mod=readonly", "-buildvcs=false", "-trimpath", f"-ldflags=-s -w {stamps}".rstrip()]

    @property
    def environment(self) -> dict[str, str]:
        """What Go must have in its environment; it overrules settings of the user's that would change the binary."""
        return {"CGO_ENABLED": "1" if self.c_compiler else "0", "GOWORK": "off", "GOFLAGS": "", "GOTOOLCHAIN": "auto"}

    @property
    def cached(self) -> Path:
        """Where the binary is kept; another place as soon as anything that makes it changes."""
        digest = hashlib.sha256(repr((self.package, self.options, self.c_compiler)).encode())
        for file in sorted(self.module.iterdir()):
            if file.suffix in (".go", ".mod", ".sum"):
                digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
        return cache_folder() / f"{self.name}-{self.version}-{digest.hexdigest()[:12]}" / self.name

    @property
    def official(self) -> Path:
        """Where the program of the official archive is kept."""
        return cache_folder() / f"{self.name}-{self.version}-official" / self.name

    @property
    def there(self) -> Path | None:
        """The program, where it was fetched or built before."""
        return next((path for path in (self.official, self.cached) if path.exists()), None)


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/loadstone/builds``, else ``~/.cache/loadstone/builds``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loadstone" / "builds"


def recipe(name: str) -> BuildRecipe:
    """The recipe of that name; raises PreflightError for any other."""
    if name not in RECIPES:
        raise PreflightError(f"cannot build {name!r}", f"what can be built: {', '.join(RECIPES)}")
    return RECIPES[name]


def _kubernetes(facts: dict[str, str]) -> dict[str, str]:
    """Kubernetes keeps its version in two packages, of which each program uses one or both."""
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return {f"{package}.{key}": value for package in packages for key, value in facts.items()}


RECIPES = {
    recipe.name: recipe
    for recipe in (
        # Versions and times are those that the modules carry, and commits where they do: `go list -m -json MODULE`.
        BuildRecipe(
            name="nomad",
            version="1.6.3",
            package="github.com/hashicorp/nomad",
            stamps={
                "github.com/hashicorp/nomad/version.GitCommit": "e0497bff14378d68cad76a801cc0eba93ce05039",
                "github.com/hashicorp/nomad/version.BuildDate": "2023-10-30T12:58:10Z",
            },
            # As HashiCorp's own Homebrew formula has them (hashicorp/homebrew-tap, Formula/nomad.rb of this version).
            archive=Archive(
                "nomad",
                "1.6.3",
                pins={
                    "amd64": "1771f83030d9c0e25b4b97b73e824f4b566721e3b9898ae9940eceb95bb7f4d0",
                    "arm64": "1b85902b62fcaf992c98f6c3970742608c919d2d2e8db59933702859600b866e",
                },
            ),
            c_compiler=True,
            cpu_s=312,
            download_mb=280,
            disk_mb=3000,
        ),
        BuildRecipe(
            name="consul",
            version="1.14.11",
            package="github.com/hashicorp/consul",
            stamps={"github.com/hashicorp/consul/version.BuildDate": "2023-10-31T18:07:09Z"},
            archive=Archive("consul", "1.14.11"),
            cpu_s=427,
            download_mb=243,
            disk_mb=3100,
        ),
        BuildRecipe(
            name="kubernetes",
            version="1.31.4",
            package="loadstone/builds/kubernetes",
            stamps=_kubernetes(
                {
                    "gitVersion": "v1.31.4",
                    "gitMajor": "1",
                    "gitMinor": "31",
                    "gitCommit": "",
                    "gitTreeState": "archive",
                    "buildDate": "2024-12-10T11:37:26Z",
                }
            ),
            on_path=False,  # nothing that is called "kubernetes" elsewhere holds all programs
            cpu_s=724,
            download_mb=101,
            disk_mb=3900,
        ),
        # What its pages are made of is not in the module: of the browser's part it has a placeholder.
        BuildRecipe(
            name="jaeger",
            version="1.62.0",
            package="github.com/jaegertracing/jaeger/cmd/all-in-one",
            stamps={
                "github.com/jaegertracing/jaeger/pkg/version.latestVersion": "v1.62.0",
                "github.com/jaegertracing/jaeger/pkg/version.date": "2024-10-07T09:16:33Z",
            },
            on_path=False,  # there it is called jaeger-all-in-one, and software.yaml finds it
            optional=True,
            cpu_s=380,
            download_mb=129,
            disk_mb=1100,
        ),
    )
}
