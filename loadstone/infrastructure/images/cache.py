"""Image archives kept in a folder of the user: made once for what is in them."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from pathlib import Path

from loadstone.infrastructure import temporary
from loadstone.infrastructure.base import Say
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.images import archive, recipe
from loadstone.infrastructure.images.recipe import ImageRecipe
from loadstone.model.base import did_you_mean
from loadstone.model.errors import PreflightError
from loadstone.model.software import StoreSoftware, built_in

STONE = "stone"
_USED_S = 3600.0
"""An archive that was used in the last hour may be just now on its way into an engine."""


def folder() -> Path:
    """``$XDG_CACHE_HOME/loadstone/images`` or ``~/.cache/loadstone/images``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loadstone" / "images"


def software(what: str) -> StoreSoftware:
    """A store of ``software.yaml`` by name; raises PreflightError for another name."""
    known = built_in().software
    if what not in known:
        raise PreflightError(f"no image {what!r}" + did_you_mean(what, [STONE, *known]))
    return known[what]


def recipe_of(what: str) -> ImageRecipe:
    """What would be in the image of that name; raises PreflightError where it cannot be made."""
    facts = stone_binary().stat()
    return _recipe(what, stone_binary(), facts.st_size, facts.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _recipe(what: str, binary: Path, size: int, modified: int) -> ImageRecipe:
    return recipe.of_stone() if what == STONE else recipe.of_store(what, software(what))


def packaged_name(what: str) -> str:
    """``loadstone/memcached:1f2e3d4c5b6a``: as the archive calls its image."""
    return f"loadstone/{what}:{recipe_of(what).key}"


def build(what: str, say: Say) -> Path:
    """The archive of an image, made if it is not there yet."""
    wanted = recipe_of(what)
    file = folder() / f"{what}-{wanted.key}.tar"
    if not file.exists():
        say(f"making the image of {what}")
        file.parent.mkdir(parents=True, exist_ok=True)
        with temporary.directory("making", file.parent) as making:
            _make(wanted, Path(making) / file.name, packaged_name(what))
            with contextlib.suppress(FileExistsError):  # another run was faster: its image counts
                os.link(Path(making) / file.name, file)
        _forget_old(what)
    os.utime(file)
    return file


def _make(wanted: ImageRecipe, file: Path, reference: str) -> None:
    layers = list(wanted.layers)
    with contextlib.ExitStack() as kept:
        if wanted.data is not None:
            layers[-1] = [*layers[-1], *kept.enter_context(wanted.data.made(wanted.what))]
        archive.write(file, reference, wanted.machine, wanted.config, layers)


def _forget_old(what: str) -> None:
    for other in folder().glob(f"{what}-*.tar"):
        with contextlib.suppress(FileNotFoundError):
            if other.stat().st_mtime < time.time() - _USED_S:
                other.unlink()
