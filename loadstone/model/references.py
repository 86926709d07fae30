"""Fields that refer to other fields: that those are there, of a kind that fits, and do not wait for each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from loadstone.model.base import Finding, did_you_mean
from loadstone.model.fields import (
    AnyField,
    ChoiceField,
    DateField,
    FileField,
    IntegerField,
    RepeatField,
    SeededField,
    SequenceField,
    SumField,
    TextField,
    ZipfField,
)

Fields = Mapping[str, AnyField]
_LONGEST = 16 * 2**20
_WHOLE = "a field with whole numbers (integer, seeded, sum, sequence, zipf with n)"
_LINE_END = re.compile(r"[\r\n\0]")


@dataclass(frozen=True)
class _Reference:
    """The field that a key names, and which would do."""

    key: str
    name: str
    what: str
    fits: Callable[[AnyField], bool]


def findings(fields: Fields, session: Fields) -> Iterator[Finding]:
    """What is wrong with the fields of one request, each for itself and together; ``session`` has its session's."""
    known = {**session, **fields}
    for name, field in fields.items():
        yield from ((("fields", name, *path), message) for path, message in field.findings())
        if name in session:
            yield ("fields", name), "is the name of a field of the session; give it another"
        for reference in _references(field):
            where = ("fields", name, reference.key)
            if reference.name not in known or not reference.fits(known[reference.name]):
                fitting = [other for other in known if other != name and reference.fits(known[other])]
                message = f"{reference.name!r} is not {reference.what} of this operation"
                yield where, message + did_you_mean(reference.name, fitting)
            elif way := _way(known, reference.name, name):
                remedy = "; begin with a date that has 'from'" if isinstance(field, DateField) else ""
                yield where, f"refers to itself: {' -> '.join([name, *way])}{remedy}"
            else:
                yield from _misfits(where, field, known[reference.name], known)
        if isinstance(field, RepeatField) and (size := _longest(name, known)) > _LONGEST:
            yield ("fields", name), f"can be {size:,} bytes long; at most {_LONGEST:,}"


def with_line_end(name: str, fields: Fields, seen: frozenset[str] = frozenset()) -> bool:
    """Whether the value of a field can have a line end in it."""
    if name in seen:
        return False
    match fields.get(name):
        case ChoiceField(values=texts) | ZipfField(values=list(texts)):
            return bool(_LINE_END.search("".join(texts)))
        case RepeatField() as repeat:
            texts = [repeat.separator, repeat.prefix, repeat.suffix]
            return bool(_LINE_END.search("".join(texts))) or with_line_end(repeat.of, fields, seen | {name})
    return False


def _references(field: AnyField) -> Iterator[_Reference]:
    match field:
        case DateField(after=str(name)):
            yield _Reference("after", name, "a date field", lambda other: isinstance(other, DateField))
        case IntegerField(not_=str(name)) | SeededField(not_=str(name)):
            yield _Reference("not", name, _WHOLE, _is_whole)
        case ChoiceField(not_=str(name)):
            yield _Reference("not", name, "a choice", lambda other: isinstance(other, ChoiceField))
        case SumField():
            yield _Reference("of", field.of, _WHOLE, _is_whole)
        case RepeatField():
            yield _Reference("of", field.of, "a field", lambda other: True)
            if field.as_many_as is not None:
                yield _Reference(
                    "as_many_as", field.as_many_as, "a repeat", lambda other: isinstance(other, RepeatField)
                )


def _is_whole(field: AnyField) -> bool:
    whole = isinstance(field, IntegerField | SeededField | SumField | SequenceField)
    return whole or (isinstance(field, ZipfField) and field.n is not None)


def _way(fields: Fields, begin: str, end: str, seen: frozenset[str] = frozenset()) -> list[str]:
    """The names by which ``begin`` refers to ``end``; none if it does not."""
    if begin == end:
        return [end]
    if begin in seen or begin not in fields:
        return []
    for reference in _references(fields[begin]):
        if way := _way(fields, reference.name, end, seen | {begin}):
            return [begin, *way]
    return []


def _misfits(where: tuple[str, ...], field: AnyField, other: AnyField, known: Fields) -> Iterator[Finding]:
    """A field of the right kind that still does not do."""
    match field, other:
        case ChoiceField(), ChoiceField() if field.values != other.values and not list(field.findings()):
            yield where, f"{field.not_!r} has other values; give both fields the same, in the same order"
        case RepeatField(), SumField() | SequenceField() | FileField(order="sequence") if where[-1] == "of":
            yield where, f"{field.of!r} is the same all through a request; repeat a random field"
        case DateField(to=str(to), after=str(after)), DateField():
            latest = _latest(after, known)
            if latest is not None and date.fromisoformat(to).toordinal() < latest.toordinal() + field.fewest_days:
                message = f"{to} leaves no day: the latest {after} is {latest}, and min_days is {field.fewest_days}"
                yield (*where[:-1], "to"), message


def _longest(name: str, known: Fields, seen: frozenset[str] = frozenset()) -> int:
    """How many bytes a text or a repeat can have; of other fields too few to matter."""
    field = known.get(name)
    if isinstance(field, TextField):
        return field.length or field.max or 0
    if not isinstance(field, RepeatField) or name in seen:
        return 0
    counted = known.get(field.as_many_as) if field.as_many_as is not None else field
    most = counted.max if isinstance(counted, RepeatField) else None
    around = len((field.separator + field.prefix + field.suffix).encode())
    return (most or 0) * (around + _longest(field.of, known, seen | {name}))


def _latest(name: str, known: Fields, seen: frozenset[str] = frozenset()) -> date | None:
    """The last day that a date can be; None if its own mistakes hide that."""
    field = known.get(name)
    if not isinstance(field, DateField) or name in seen:
        return None
    days = [date.fromisoformat(field.to)] if field.to is not None else []
    if field.after is not None and field.max_days is not None:
        before = _latest(field.after, known, seen | {name})
        if before is not None:
            days.append(date.fromordinal(min(before.toordinal() + field.max_days, date.max.toordinal())))
    return min(days, default=None)
