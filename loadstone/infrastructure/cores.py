"""Lists of cores, as the kernel writes them: ``0-2,5``."""

from __future__ import annotations

from collections.abc import Iterable


def format_cores(cores: Iterable[int]) -> str:
    """A list of cores in the kernel's form."""
    parts: list[list[int]] = []
    for core in sorted(set(cores)):
        if parts and core == parts[-1][-1] + 1:
            parts[-1].append(core)
        else:
            parts.append([core])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
