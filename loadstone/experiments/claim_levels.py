"""Claims about levels that no treatment of a study has: a report could not say anything of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from loadstone.model import factors, parts
from loadstone.model.base import Finding, show
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.messages import brief
from loadstone.model.placement import Splits
from loadstone.model.study import Study

_Levels = Mapping[str, Mapping[str, None]]
"""What the treatments have of each setting that is given, as text and in order."""


def refuse_untestable(document: Document) -> None:
    """Raise InputError for levels that no treatment has, at any scale: a smaller one may leave some untested.

    Claims above the parts of a study may be about any of them. What is wrong with the study is for its plan to say.
    """
    if not any("claims" in owner for owner in _own(document)):
        return
    try:
        every = [parts.documents(document, scale) for scale in parts.SCALES]
        studies = [{name: factors.common(each) for name, each in found.items()} for found in every]
        known = [
            {name: _levels(found[name], study) for name, study in each.items()}
            for found, each in zip(every, studies, strict=True)
        ]
    except InputError:
        return
    of_all = "claims" in document.data
    problems = []
    for found, each in zip(every, studies, strict=True):
        for name, study in each.items():
            levels = [of for scale in known for part, of in scale.items() if of_all or part == name]
            problems += [found[name].problem(*finding) for finding in _findings(study, levels)]
    factors.refuse(problems)


def _own(document: Document) -> list[Any]:
    """The study, its parts, and what each of them has of its own at a scale."""
    owners = [document.data, *(part for part in document.data.get("parts") or () if isinstance(part, dict))]
    scales = [owner.get("scale") for owner in owners]
    return [*owners, *(own for scale in scales if isinstance(scale, dict) for own in scale.values() if own)]


def _findings(study: Study, levels: list[_Levels]) -> Iterator[Finding]:
    for index, claim in enumerate(study.claims):
        for key in ("of", "above", "below"):
            for name, level in (getattr(claim, key) or {}).items():
                known = {text: None for each in levels for text in each.get(name, {})}
                if known and brief(level) not in known:
                    text = f"{show(level)} is not a level of {name!r} in any treatment; there are: {', '.join(known)}"
                    yield ("claims", index, key, name), text


def _levels(document: Document, study: Study) -> _Levels:
    """Nothing where only a plan knows the levels."""
    if any(isinstance(levels, Splits) for levels in study.factors.values()):
        return {}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for each in factors.resolve(document, study):
        settings = each.study.settings
        texts = {name: factors.called(name, level, settings) for name, level in each.levels.items()}
        given = {name: value for name, value in each.document.data.items() if name in type(settings).model_fields}
        for name, value in {**given, **each.settings}.items():
            if name not in texts:
                found[name][brief(value)] = None
                found[name][brief(_at(each.study, name))] = None
        for name, text in texts.items():
            found[name][text] = None
        if each.study.load.closed is not None:
            found["clients"] |= dict.fromkeys(map(brief, each.study.load.closed.clients))
        found["workers"][brief(each.study.cluster.workers)] = None
    return found


def _at(study: Study, path: str) -> Any:
    part: Any = study
    for key in path.split("."):
        part = getattr(part, key, None)
    return part
