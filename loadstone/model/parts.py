"""The parts of a study file, and its scales: each part is a study, merged over the keys that all have in common.

Merging goes key by key (RFC 7396): a mapping into a mapping, anything else replaces, and null removes. A part's factors
replace those in common, with their exceptions, and what they vary is no longer fixed; so does its kind of load.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from loadstone.model.base import Finding, did_you_mean, show
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.messages import KeyPath

Scale = Literal["paper", "here"]
FILE = "parts.json"
"""In the run folder of a study with parts."""
SCALES: tuple[Scale, ...] = get_args(Scale)
_OWN = ("name", "scale")
"""Keys of a part that are not a study's."""
_OF_THE_FILE = {"parts", "version", "reproduces", "scale"}


def named(document: Document) -> list[str]:
    """The names of a file's parts, in order; none where it is one study."""
    return [str(part["name"]) for part in document.data.get("parts") or ()]


def documents(document: Document, scale: Scale | None, only: Sequence[str] = ()) -> dict[str, Document]:
    """The study of each part at a scale by name, of those in ``only`` if given; ``{"": study}`` where there are none.

    Raises InputError for malformed parts, and for names in ``only`` that no part has.
    """
    document.check(_findings(document))
    known = named(document)
    for name in only:
        if name not in known:
            what = did_you_mean(name, known) if known else "; the study has no parts"
            raise InputError(f"--part {name}: no such part{what}")
    common = _scaled(document.without("parts", "scale"), document.data, (), scale)
    if not known:
        return {"": common}
    found = {}
    for index, part in enumerate(document.data["parts"]):
        if part["name"] in (only or known):
            place = ("parts", index)
            own = {key: value for key, value in part.items() if key not in _OWN}
            made = _scaled(_replaceable(common, own).merged(own, place), part, place, scale)
            name = f"{document.data.get('name', '')}-{part['name']}"
            found[part["name"]] = made.with_values([(("name",), name, (*place, "name"))])
    return found


def _scaled(document: Document, part: Mapping[str, Any], place: KeyPath, scale: Scale | None) -> Document:
    own = (part.get("scale") or {}).get(scale) or {}
    return _replaceable(document, own).merged(own, (*place, "scale", str(scale)))


def _replaceable(document: Document, own: Mapping[str, Any]) -> Document:
    """Without what the factors of ``own`` vary, and without another kind of load than that of ``own``."""
    made = document.without()
    if isinstance(factors := own.get("factors"), dict):
        made = document.without("factors", "except")
        for factor in factors:
            made.remove(tuple(str(factor).split(".")))
    load = own.get("load")
    if isinstance(load, dict) and (kinds := set(load) & {"rates", "capacity", "closed"}):
        for other in {"rates", "capacity", "closed", *(["slo"] if "capacity" in kinds else [])} - set(load):
            made.remove(("load", other))
    return made


def differences(document: Document, part: str) -> dict[str, tuple[Any, Any]]:
    """By dotted path what a part has at the scales ``paper`` and ``here`` where they differ; None where not set."""
    there, here = (_leaves(documents(document, scale, [part] if part else ())[part].data) for scale in SCALES)
    paths = [path for path in dict.fromkeys([*there, *here]) if there.get(path) != here.get(path)]
    return {".".join(path): (there.get(path), here.get(path)) for path in paths}


def _leaves(data: Any, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """What is no mapping, by its path; without the keys that are of the file alone."""
    if not isinstance(data, dict) or not data:
        return {at: data}
    some = (
        _leaves(value, (*at, str(key))) for key, value in data.items() if at or key not in ("parts", "scale", "claims")
    )
    return {path: value for leaves in some for path, value in leaves.items()}


def _findings(document: Document) -> Iterator[Finding]:
    parts = document.data.get("parts")
    yield from _wrong_scales(document.data, ())
    if parts is None:
        return
    if not isinstance(parts, list) or not parts:
        yield ("parts",), f"expected a list of parts, not {show(parts)}; begin each with '- name: '"
        return
    names: list[str] = []
    for index, part in enumerate(parts):
        name = part.get("name") if isinstance(part, dict) else None
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", name):
            text = "a part needs a name of letters, digits, '.', '_' and '-', at most 40; for example name: baseline"
            yield ("parts", index), text
            continue
        if name in names:
            yield ("parts", index, "name"), f"{name!r} is given twice"
        names.append(name)
        for key in (_OF_THE_FILE - {"scale"}) & set(part):
            yield ("parts", index, key), f"{key!r} is of the whole file; write it above the parts"
        yield from _wrong_scales(part, ("parts", index))


def _wrong_scales(part: Mapping[str, Any], place: KeyPath) -> Iterator[Finding]:
    scales = part.get("scale")
    if scales is not None and not isinstance(scales, dict):
        yield (*place, "scale"), f"expected what differs by scale, not {show(scales)}; write scale: {{here: {{...}}}}"
        return
    for name, own in (scales or {}).items():
        if name not in SCALES:
            yield (*place, "scale", name), f"no scale {name!r}" + did_you_mean(str(name), [*SCALES])
        elif not isinstance(own, dict):
            yield (*place, "scale", name), f"expected keys and values, not {show(own)}"
        else:
            for key in _OF_THE_FILE & set(own):
                yield (*place, "scale", name, key), f"{key!r} is of the whole file; write it at the top of the file"
