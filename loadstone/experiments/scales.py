"""Which scale of a study is run."""

from __future__ import annotations

from loadstone import plugins
from loadstone.model.base import did_you_mean
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.parts import SCALES, Scale


def scale_of(document: Document, given: str | None = None) -> Scale | None:
    """The scale to run at: as given, else ``here`` where the study's infrastructure needs nothing but this machine.

    None where the file has no scales. Raises InputError for one that there is not.
    """
    if given is not None and given not in SCALES:
        raise InputError(f"--scale {given}: no such scale" + did_you_mean(given, [*SCALES]))
    parts = document.data.get("parts")
    there = [document.data, *(parts if isinstance(parts, list) else ())]
    if not any(isinstance(part, dict) and part.get("scale") for part in there):
        if given is not None:
            raise InputError(f"--scale {given}: {document.file} has no scales; leave the option out")
        return None
    if given is not None:
        return next(scale for scale in SCALES if scale == given)
    cluster = document.data.get("cluster")
    name = cluster.get("infrastructure", "local") if isinstance(cluster, dict) else "local"
    alone = name in plugins.names("infrastructure") and plugins.find("infrastructure", name).self_contained
    return "here" if alone else "paper"
