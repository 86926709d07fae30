"""Factors: what their levels set, and the study of each treatment.

A factor is a setting by its dotted path (``load.connections``), or a name whose levels are mappings of several settings
(``{name: 400x60, load.rates: [400], trial.duration: 60s}``). A treatment's study is the file with the levels of one
combination written into it, and is validated as if a user had written that file.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.model.base import Finding, did_you_mean
from loadstone.model.document import Document
from loadstone.model.errors import InputError, Problem
from loadstone.model.messages import KeyPath, brief
from loadstone.model.study import SETTABLE, Settings, Study, is_bundle
from loadstone.model.trial import Treatment

_LISTS = ("load.rates", "load.closed.clients")
"""Settings that are lists: a level may be one entry."""
_OF_ALL = {
    "trial.repetitions": "repetitions are of all treatments",
    "trial.order": "one order has all treatments",
    "trial.on_invalid": "it is about the whole run",
    "load.driver": "one driver loads all treatments",
    "load.slo": "one objective judges all treatments",
    "load.capacity.slo": "one objective judges all treatments",
}
"""Settings that one run has once, with the reason."""


@dataclass(frozen=True)
class Varied:
    """One combination of levels: the study that it makes, where all levels are written in."""

    document: Document
    """Problems at what a level sets name the level's place in the file."""
    study: Study
    levels: Mapping[str, Any]
    """By factor, as the file has them."""
    settings: Mapping[str, Any]
    """What the levels set, by dotted path."""


def common(document: Document) -> Study:
    """The study with its factors; what must be given and is varied has its first level. Raises InputError."""
    factors = document.data.get("factors")
    placed: list[tuple[KeyPath, Any, KeyPath]] = []
    for factor, levels in factors.items() if isinstance(factors, dict) else ():
        if isinstance(levels, list) and levels:
            placed += [entry for entry in _placed(factor, 0, levels[0]) if entry[0][0] not in Settings.model_fields]
    document.check(_wrong(document, factors if isinstance(factors, dict) else {}))
    return document.with_values(placed).parse(Study)


def resolve(document: Document, study: Study) -> list[Varied]:
    """The study of each treatment, in file order; raises InputError with the problems of all of them."""
    unvaried = document.without("factors", "except")
    if study.comparison is not None:
        unvaried = unvaried.with_values([(("comparison", "baseline"), {}, ("comparison",))])
    found, problems = [], []
    for chosen in study.combinations():
        try:
            found.append(_varied(unvaried, study, chosen))
        except InputError as error:
            problems += error.problems
    refuse([*problems, *_varied_once(found)])
    return found


def indistinct(document: Document, study: Study, treatments: Sequence[Treatment]) -> Iterator[Problem]:
    """Treatments equal to an earlier one, or with its label; each at the level in which the two differ."""
    combinations = study.combinations()
    seen: dict[str, int] = {}
    for place, treatment in enumerate(treatments):
        for key in (treatment.id, treatment.label):
            if (first := seen.setdefault(key, place)) == place:
                continue
            factor = next(name for name, level in combinations[place].items() if level != combinations[first][name])
            where = ("factors", factor, combinations[place][factor])
            name, other = treatment.levels[factor], treatments[first].levels[factor]
            if treatment.id != treatments[first].id:
                text = f"two levels that differ are called {name!r}; give each a name of its own: {{name: ..., ...}}"
            elif name == other:
                text = f"level {name!r} is given twice, in other words; remove one"
            else:
                text = f"level {name!r} makes the same treatment as level {other!r}; remove one"
            yield document.problem(where, text)
            break


def refuse(problems: Iterable[Problem]) -> None:
    """Raise InputError where there are problems; those of several treatments once."""
    if unique := sorted(dict.fromkeys(problems), key=lambda problem: problem.line):
        raise InputError(unique)


def _varied_once(varied: Sequence[Varied]) -> Iterator[Problem]:
    """Settings that a run has once, where a level that sets a whole section changes them between treatments."""
    for each in varied[1:]:
        for path in _OF_ALL:
            keys = path.split(".")
            ours, first = (functools.reduce(_value, keys, study) for study in (each.study, varied[0].study))
            if None not in (ours, first) and ours != first:
                yield each.document.problem(keys, f"{path!r} {_not_varied(path)}")


def _value(part: Any, key: str) -> Any:
    return getattr(part, key, None)


def _not_varied(path: str) -> str:
    return f"cannot be varied: {_OF_ALL[path]}; make two parts, or two studies"


def _varied(document: Document, study: Study, chosen: Mapping[str, int]) -> Varied:
    placed: list[tuple[KeyPath, Any, KeyPath]] = []
    for factor, index in chosen.items():
        placed += _placed(factor, index, study.levels(factor)[index])
    own = document.with_values(placed)
    seen: dict[KeyPath, KeyPath] = {}
    for path, _, where in placed:
        if (other := seen.setdefault(path, where)) != where:
            text = f"{'.'.join(map(str, path))} is also set by the factor {other[1]!r}; vary it by one of them"
            raise InputError([document.problem(where, text)])
    found = own.parse(Study)
    levels = {factor: study.levels(factor)[index] for factor, index in chosen.items()}
    return Varied(own, found, levels, {".".join(map(str, path)): value for path, value, _ in placed})


def called(factor: str, level: Any, settings: Settings) -> str:
    """The short name of a level: its own, that of the setting as it came to be, or as it is written."""
    if is_bundle(level):
        return str(level["name"])
    if factor in Settings.model_fields:
        value = getattr(settings, factor)
        return "none" if value is None else str(value)
    return brief(level)


def _placed(factor: str, index: int, level: Any) -> Iterator[tuple[KeyPath, Any, KeyPath]]:
    """The path of each setting that a level sets, its value, and the place of it in the file."""
    where = ("factors", factor, index)
    if is_bundle(level):
        yield from ((*_entry(name, value), (*where, name)) for name, value in level.items() if name != "name")
    else:
        yield *_entry(factor, level), where


def _entry(name: str, value: Any) -> tuple[KeyPath, Any]:
    return tuple(name.split(".")), [value] if name in _LISTS and isinstance(value, int | float) else value


def _wrong(document: Document, factors: Mapping[str, Any]) -> Iterator[Finding]:
    """Paths that no treatment can have of its own, or that the file sets as well; levels of equal names."""
    for factor, levels in factors.items():
        if not isinstance(levels, list):
            continue
        head, *below = str(factor).split(".")
        if not all(is_bundle(level) for level in levels) and below:
            if head not in SETTABLE:
                yield ("factors", factor), f"{head!r} is no setting" + did_you_mean(head, [*SETTABLE])
            elif document.has((head, *below)):
                yield (head, *below), f"{factor!r} is a setting and a factor at once; keep one"
        for index, level in enumerate(levels):
            for path, _, where in _placed(factor, index, level):
                name = ".".join(map(str, path))
                for fixed in _OF_ALL:
                    if f"{name}.".startswith(f"{fixed}."):
                        yield where, f"{name!r} {_not_varied(fixed)}"
        if factor not in Settings.model_fields:
            names = [str(level["name"]) if is_bundle(level) else brief(level) for level in levels]
            for index, name in enumerate(names):
                if name in names[:index]:
                    yield ("factors", factor, index), f"level {name!r} is given twice"
