"""Images without a registry and without a daemon: written as files, loaded into each node's engine.

``docs/explanation/images.md`` says what is in them. A name here (``what``) is ``stone``, a store of ``software.yaml``
(``memcached``), or a foreign image by its own name, which has a ``:`` or a ``/`` in it (``nginx:1.25``).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from loadstone.infrastructure.base import Access, Finding, Say
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.images import archive, cache, delivery, elf, recipe
from loadstone.infrastructure.images.delivery import Delivered
from loadstone.infrastructure.images.engines import CTR_IS_MISSING, INSTALL_CTR
from loadstone.infrastructure.images.registry import Registry
from loadstone.model.errors import PreflightError

__all__ = ["Delivered", "build", "deliver", "findings", "ids_by_manifest", "official", "reference"]


def _quiet(sentence: str) -> None:
    """Discards progress messages."""


def reference(what: str, access: Access | None = None) -> str:
    """What to call an image in a cluster: ``loadstone/stone:1f2e3d4c5b6a``; other contents have another name.

    Raises PreflightError where a packaged image cannot be made.
    """
    if not _is_packaged(what, access):
        return official(what) if _is_ours(what) else what
    packaged = cache.packaged_name(what)
    if access is None or not access.registry:
        return packaged
    return f"{Registry(access.registry).prefix}/{packaged.removeprefix('loadstone/')}"


def official(what: str) -> str:
    """The official image of a store: ``memcached:1.6``."""
    return cache.software(what).container.image


def build(what: str, say: Say = _quiet) -> Path:
    """The archive of a packaged image, for ``docker load`` and ``ctr images import``; made if it is not there yet."""
    return cache.build(what, say)


def ids_by_manifest(whats: Iterable[str], access: Access) -> dict[str, str]:
    """The ids of packaged images by the digests of their manifests.

    Kubernetes calls an image by the latter on a node that once pulled it, also where it was loaded as well.
    """
    contents = [archive.read(build(what)) for what in whats if _is_packaged(what, access)]
    return {image.manifest.digest: image.config.digest for image in contents}


def findings(whats: Iterable[str], access: Access | None = None) -> list[Finding]:
    """Whether images could be delivered, as far as this machine can tell; makes none. Without access: packaged."""
    found = [_finding(what) for what in whats if _is_packaged(what, access)]
    sockets = [address for address in access.engines.values() if "://" not in address] if access is not None else []
    if sockets and shutil.which("ctr") is None:
        found.append(Finding("images", "error", CTR_IS_MISSING, INSTALL_CTR))
    return found


def _finding(what: str) -> Finding:
    if what != cache.STONE:
        return recipe.inspect(what, cache.software(what))
    try:
        return Finding(what, "ok", f"an image of {stone_binary()} for linux/{elf.static_machine(stone_binary())}")
    except PreflightError as error:
        return Finding(what, "error", error.message, error.remedy)


def deliver(access: Access, whats: Iterable[str], say: Say = _quiet) -> dict[str, Delivered]:
    """Put images where the cluster's nodes find them; what is there already stays.

    Packaged images are loaded into each engine that can be reached, or pushed to the registry that the user named;
    others are pulled by each engine. Raises PreflightError where an image cannot be had, or nodes have different ones.
    """
    names = {what: reference(what, access) for what in whats}
    files = {what: build(what, say) for what in names if _is_packaged(what, access)}
    return delivery.deliver(access, names, files, say)


def _is_ours(what: str) -> bool:
    return ":" not in what and "/" not in what


def _is_packaged(what: str, access: Access | None) -> bool:
    """Whether an image is made here: ``stone`` always, stores unless the official ones are wanted."""
    return _is_ours(what) and (what == cache.STONE or access is None or access.images != "official")
