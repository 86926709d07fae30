"""Datasets: what an application's stores are filled with, and the numbers that requests take from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict

from loadstone.model.base import Finding, Matches, Model, did_you_mean, show
from loadstone.model.errors import InputError
from loadstone.model.fields import IntegerField, SeededField
from loadstone.model.workload import Operation, Workload

_MOST = 10**12


def _one_value(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected a number or a text, not {show(value)}")
    return value


Value = Annotated[int | float | str, BeforeValidator(_one_value)]
Keys = Mapping[str, int | float | str]
"""A dataset as ``stone seed`` gets it."""
DatasetName = Annotated[str, Matches(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", "letters, digits, '_' and '-', at most 64")]
"""It has no '.' and no '/', so that it is no path."""


class Dataset(Model):
    """What ``stone seed`` fills the stores with. Its keys, and what they mean, are those of the application's seeding:
    whole numbers, numbers and texts."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Value]

    description: str = ""

    @property
    def keys(self) -> Keys:
        """All that is given but the description."""
        return dict(self.__pydantic_extra__)


def is_path(name: str) -> bool:
    """Whether a study's ``dataset`` is the path of a file, and not a dataset's name."""
    return "." in name or "/" in name


def findings(workload: Workload, datasets: Mapping[str, Dataset]) -> Iterator[Finding]:
    """Fields that cannot be drawn from each dataset of their application, at what they name."""
    for name, operation in workload.operations.items():
        for path, field in operation.fields_of(SeededField):
            at = ("operations", name, *path, "of")
            if not datasets:
                yield at, "the application has no datasets; give it some, or use kind: integer"
            for dataset, keys_ in datasets.items():
                if problem := _problem(field, keys_.keys):
                    yield at, f"dataset {dataset!r} {problem}"


def is_seeded(workload: Workload) -> bool:
    """Whether any request has a field that is drawn from the dataset."""
    return any(True for operation in workload.operations.values() for _ in operation.fields_of(SeededField))


def resolved(workload: Workload, keys: Keys) -> Workload:
    """The workload for one dataset; raises InputError where a field cannot be drawn from it."""
    operations = {name: _resolved(operation, keys) for name, operation in workload.operations.items()}
    return workload.model_copy(update={"operations": operations})


def _resolved(operation: Operation, keys: Keys) -> Operation:
    def of(fields: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: _integer(field, keys) if isinstance(field, SeededField) else field for name, field in fields.items()
        }

    steps = [step.model_copy(update={"fields": of(step.fields)}) for step in operation.steps or []]
    return operation.model_copy(update={"fields": of(operation.fields), "steps": steps or None})


def _integer(field: SeededField, keys: Keys) -> IntegerField:
    if problem := _problem(field, keys):
        raise InputError(f"the dataset {problem}")
    last = field.first + int(keys[field.of]) - 1
    return IntegerField.model_validate({"kind": "integer", "min": field.first, "max": last, "not": field.not_})


def _problem(field: SeededField, keys: Keys) -> str | None:
    """Why a field cannot be drawn from a dataset; None where it can."""
    if field.of not in keys:
        return f"has no key {field.of!r}" + did_you_mean(field.of, list(keys))
    number = keys[field.of]
    if not isinstance(number, int) or not 1 <= number <= _MOST:
        return f"has {field.of}: {show(number)}; it must be a whole number from 1 to {_MOST:,}"
    if number == 1 and field.not_ is not None:
        return f"has {field.of}: 1, which leaves no value that differs from {field.not_}"
    return None
