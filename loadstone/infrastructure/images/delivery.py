"""Images into the engines of a cluster: loaded from archives, or pulled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from loadstone.infrastructure.base import Access, Say
from loadstone.infrastructure.images import archive
from loadstone.infrastructure.images.engines import CannotPull, HeldImage, ImageEngine, engine
from loadstone.infrastructure.images.registry import Registry
from loadstone.model.base import plural
from loadstone.model.errors import PreflightError
from loadstone.model.software import built_in

_AT_ONCE = 4
"""Engines that are filled at the same time."""

_Job = Callable[[ImageEngine], HeldImage]
"""Sees to it that an engine has an image."""


@dataclass(frozen=True)
class Delivered:
    """An image as a cluster's nodes have it."""

    reference: str
    """What to run."""
    id: str = ""
    """What the engines call it (``sha256:...``); empty where no engine could be reached."""
    digest: str = ""
    """What its registry calls it; empty if it came from no registry."""


def deliver(access: Access, names: dict[str, str], files: dict[str, Path], say: Say) -> dict[str, Delivered]:
    """Images by name (``what``) to where nodes find them; those without a file are pulled."""
    engines = [engine(node, address) for node, address in access.engines.items()]
    if access.registry:
        pushed = _push(Registry(access.registry), names, files, say)
        plain = Registry(access.registry).plain
        pulled = {what: _pulling(name, plain and what in files) for what, name in names.items()}
        return {what: Delivered(name) for what, name in names.items()} | pushed | _into(engines, names, pulled, say)
    if files and not engines:
        message = "no engine of the cluster can be reached from here, so no image can be loaded into one"
        raise PreflightError(message, "set `cluster.registry` to a registry that its nodes pull from")
    jobs = {what: _loading(files[what]) if what in files else _pulling(name, False) for what, name in names.items()}
    return {what: Delivered(name) for what, name in names.items()} | _into(engines, names, jobs, say)


def _push(registry: Registry, names: dict[str, str], files: dict[str, Path], say: Say) -> dict[str, Delivered]:
    pushed = {}
    for what, file in files.items():
        config, digest = registry.push(file, what, names[what].rpartition(":")[2])
        say(f"{names[what]} is {digest}")
        pushed[what] = Delivered(names[what], config, digest)
    return pushed


def _into(engines: list[ImageEngine], names: dict[str, str], jobs: dict[str, _Job], say: Say) -> dict[str, Delivered]:
    """Do the jobs in each engine; what each image is there, nothing where there is no engine."""
    if not engines:
        return {}
    say(f"images of {', '.join(jobs)} into {plural(len(engines), 'engine')}")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        held = list(pool.map(lambda each: {what: job(each) for what, job in jobs.items()}, engines))
    for what in jobs:
        nodes = defaultdict(list)
        for each, found in zip(engines, held, strict=True):
            nodes[found[what].digest or found[what].id].append(each.node)
        if len(nodes) > 1:
            differing = "; ".join(f"{', '.join(at)} has {found}" for found, at in nodes.items())
            message = f"nodes have different images called {names[what]}: {differing}"
            raise PreflightError(message, "remove it on the nodes, so that it is fetched anew")
    return {what: Delivered(names[what], found.id, found.digest) for what, found in held[0].items()}


def _loading(file: Path) -> _Job:
    contents = archive.read(file)
    same = (contents.config.digest, contents.manifest.digest)  # engines that keep images in containerd say the latter

    def load(into: ImageEngine) -> HeldImage:
        held = into.find(contents.reference)
        if held is None or held.id not in same:
            into.load(file)
            held = into.find(contents.reference)
        if held is None or held.id not in same:
            raise PreflightError(f"the engine of {into.node} took {file}, but has no {contents.reference} of it")
        return HeldImage(held.id, "")

    return load


def _pulling(name: str, plain: bool) -> _Job:
    def pull(into: ImageEngine) -> HeldImage:
        held = into.find(name)
        if held is None:
            try:
                into.pull(name, plain)
            except CannotPull as error:
                raise PreflightError(f"{name} cannot be pulled on {into.node}: {error}", _remedy(name)) from None
            held = into.find(name)
        if held is None:
            raise PreflightError(f"the engine of {into.node} pulled {name}, but does not have it")
        return held

    return pull


def _remedy(name: str) -> str:
    if name in {software.container.image for software in built_in().software.values()}:
        return "set `cluster.images: packaged`, which makes it from the installed package"
    return "see that the node reaches the image's registry, or load it there with `docker load`"
