"""Puts ``stone`` and ``stone-compose`` into a wheel (hatchling build hook).

LOADSTONE_WHEEL names the processor, amd64 or arm64. Without it, as in a checkout, nothing is built:
the package finds those of ``.build``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = {"amd64": "manylinux_2_17_x86_64", "arm64": "manylinux_2_17_aarch64"}
"""The wheel's platform by Go's name of the processor; a static binary needs no version of the C library."""


class StoneHook(BuildHookInterface[Any]):
    """Cross-builds both; the same sources give the same bytes."""

    _built: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        processor = os.environ.get("LOADSTONE_WHEEL")
        if processor is None or version == "editable":
            return
        if processor not in PLATFORMS:
            raise SystemExit(f"LOADSTONE_WHEEL is {processor!r}; give {' or '.join(PLATFORMS)}")
        built = self._built = Path(tempfile.mkdtemp(prefix="loadstone-wheel-"))
        flags = f"-s -w -buildid= -X main.version={self.metadata.version}"
        subprocess.run(
            ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", f"{built}/", "./cmd/..."],
            cwd=Path(self.root, "stone"),
            env={**os.environ, "CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": processor, "GOTOOLCHAIN": "auto"},
            check=True,
        )
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORMS[processor]}"
        for program in built.iterdir():
            build_data["force_include"][str(program)] = f"loadstone/bin/{program.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._built is not None:
            shutil.rmtree(self._built)
