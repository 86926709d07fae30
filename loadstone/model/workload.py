"""Workloads: weighted operations, each one request or the steps of a session, with random fields in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from loadstone.model import references
from loadstone.model.base import Finding, Matches, Model, did_you_mean
from loadstone.model.expectation import Expectation, Source
from loadstone.model.fields import AnyField, Name, RandomField, Weight
from loadstone.model.units import LONGEST_S, Pause, format_seconds

OperationName = Annotated[str, Matches(r"[A-Za-z0-9_:/-]+", "letters, digits and _ : / -")]
HeaderName = Annotated[str, Matches(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "a header's name, for example X-Request-Id")]
RequestPath = Annotated[str, Matches(r"/\S*", "a path that begins with '/' and has no spaces, for example /hotels")]
WorkloadEntry = Annotated[
    str, Matches(r"[a-z][a-z0-9-]{0,62}(:[A-Za-z0-9_-]+)?", "SERVICE, or SERVICE:PORT by the port's name")
]
FieldType = TypeVar("FieldType", bound=Model)
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""In the texts of a request: the value of a field."""
_OUR_OWN_HEADERS = ("content-length", "transfer-encoding")


class Request(Model):
    """One request. ``{name}`` in path, headers and body is replaced by the field of that name."""

    method: Literal["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"] = "GET"
    path: RequestPath
    headers: dict[HeaderName, str] = {}
    body: str = ""
    fields: dict[Name, RandomField] = {}
    expect: Expectation | None = None
    """What the answer must be; by default any status below 400."""
    _placeholders: ClassVar = "a field"

    def wrong(self, session: Mapping[str, AnyField], extracted: Collection[str]) -> Iterator[Finding]:
        """What is wrong with it as a part of a session that has these fields and values of earlier answers."""
        yield from references.findings(self.fields, session)
        known = [*session, *self.fields, *extracted]
        for name in self.fields:
            if name in extracted:
                yield ("fields", name), "is the name of a value that an earlier step extracts; give it another"
        headers = ((("headers", key), text) for key, text in self.headers.items())
        texts: list[tuple[tuple[str, ...], str]] = [(("path",), self.path), (("body",), self.body), *headers]
        for key, text in texts:
            for name in PLACEHOLDER.findall(text):
                if name not in known:
                    yield key, f"{{{name}}} is not {self._placeholders}" + did_you_mean(name, known)
        for name, text in self.headers.items():
            if name.lower() in _OUR_OWN_HEADERS:
                yield ("headers", name), "is made from the body; remove it"
            elif re.search(r"[\r\n\0]", text):
                yield ("headers", name), "has a line end in it; a header is one line"
            for field in PLACEHOLDER.findall(text):
                if references.with_line_end(field, {**session, **self.fields}):
                    yield ("headers", name), f"{{{field}}} can have a line end in it; a header is one line"
        if self.expect is not None:
            yield from ((("expect", *path), message) for path, message in self.expect.findings())
            if self.method == "HEAD" and (self.expect.json_ is not None or self.expect.min_bytes):
                yield ("expect",), "an answer to HEAD has no body; expect a status"

    def for_host(self, host: str) -> Self:
        """With a ``Host`` header, where it has none."""
        if any(name.lower() == "host" for name in self.headers):
            return self
        return self.model_copy(update={"headers": {"Host": host, **self.headers}})

    def plan(self) -> dict[str, Any]:
        """As the load generator reads it; without what was left out, since it knows the defaults."""
        plan: dict[str, Any] = {
            key: getattr(self, key) for key in ("method", "path", "headers", "body") if key in self.model_fields_set
        }
        if self.fields:
            plan["fields"] = _fields_plan(self.fields)
        if self.expect is not None:
            plan["expect"] = self.expect.plan()
        return plan


def _fields_plan(fields: Mapping[str, AnyField]) -> dict[str, Any]:
    return {name: field.model_dump(by_alias=True, exclude_none=True) for name, field in fields.items()}


class Think(Model):
    """A pause of ``min`` to ``max``, uniform. ``1s`` alone is a pause of always one second."""

    min: Pause
    max: Pause

    def findings(self) -> Iterator[Finding]:
        if self.min > self.max:
            yield ("min",), f"{format_seconds(self.min)} is above max {format_seconds(self.max)}"
        if self.max > LONGEST_S:
            yield ("max",), f"{format_seconds(self.max)} is too long; at most {format_seconds(LONGEST_S)}"


def _always(value: Any) -> Any:
    return value if isinstance(value, dict | Think) else {"min": value, "max": value}


class Step(Request):
    """One request of a session. It is sent when the step before it was answered well, after ``think``."""

    name: OperationName
    """What it is called in results: ``operation.name``."""
    think: Annotated[Think | None, BeforeValidator(_always)] = None
    """The pause after the answer before it: ``1s``, or ``{min: 1s, max: 3s}``."""
    extract: dict[Name, Source] = {}
    """Values of its answer that later steps can use as ``{name}``: ``json:access.token``, ``header:X-Token``,
    ``cookie:login_token``."""
    _placeholders: ClassVar = "a field, nor a value that an earlier step extracts"

    def plan(self) -> dict[str, Any]:
        """As the load generator reads it."""
        plan = {"name": self.name, **super().plan()}
        if self.think is not None:
            plan["think"] = {"min_s": self.think.min, "max_s": self.think.max}
        return plan | ({"extract": self.extract} if self.extract else {})


class Operation(Request):
    """One kind of request, or a session of several ``steps``, which share its ``fields``."""

    weight: Weight = 1.0
    """Its share of the mix, relative to the other operations' weights."""
    path: RequestPath = ""
    """Not where it has ``steps``."""
    steps: Annotated[list[Step], Field(min_length=1)] | None = None
    """A session, started at the operation's share of the rate, however long its steps take."""

    @model_validator(mode="before")
    @classmethod
    def _of_steps_alone(cls, data: Any) -> Any:
        for key in ("think", "extract"):
            if isinstance(data, dict) and key in data:
                raise ValueError(f"{key!r} belongs to a step of a session; give 'steps'")
        return data

    def findings(self) -> Iterator[Finding]:
        if self.steps is None:
            if not self.path:
                yield (), "give 'path', or 'steps'"
            yield from self.wrong({}, ())
            return
        for key in ("method", "path", "headers", "body", "expect"):
            if key in self.model_fields_set:
                yield (key,), "belongs to each step; an operation with 'steps' has none"
        yield from references.findings(self.fields, {})
        yield from self._wrong_steps(self.steps)

    def _wrong_steps(self, steps: list[Step]) -> Iterator[Finding]:
        extracted: list[str] = []
        names: list[str] = []
        for index, step in enumerate(steps):
            at = ("steps", index)
            if step.name in names:
                yield (*at, "name"), f"{step.name!r} is given twice; results are named after it"
            if index == 0 and step.think is not None:
                yield (*at, "think"), "the first step has no answer before it; remove it"
            yield from (((*at, *path), message) for path, message in step.wrong(self.fields, extracted))
            if step.think is not None:
                yield from (((*at, "think", *path), message) for path, message in step.think.findings())
            for name in step.extract:
                if name in self.fields:
                    yield (*at, "extract", name), "is the name of a field of the session; give it another"
            if step.method == "HEAD" and any(source.startswith("json:") for source in step.extract.values()):
                yield (*at, "extract"), "an answer to HEAD has no body"
            names.append(step.name)
            extracted += [name for name in step.extract if name not in self.fields]

    def message_findings(self) -> Iterator[Finding]:
        """What is wrong with it as a message of ZeroMQ."""
        for key in ("method", "path", "headers", "steps"):
            if key in self.model_fields_set:
                yield (key,), "a message has none; remove it"
        if not self.body:
            yield (), "give 'body', the message"
        if self.expect is not None and self.expect.status is not None:
            yield ("expect", "status"), "a reply has none; expect 'json', 'min_bytes' or 'max_bytes'"
        yield from self.wrong({}, ())

    def for_host(self, host: str) -> Self:
        """With a ``Host`` header in each of its requests that has none."""
        if self.steps is None:
            return super().for_host(host)
        return self.model_copy(update={"steps": [step.for_host(host) for step in self.steps]})

    def request_names(self, name: str) -> list[str]:
        """What its requests are called in results, where it is called ``name``."""
        return [name] if self.steps is None else [f"{name}.{step.name}" for step in self.steps]

    def fields_of(self, kind: type[FieldType]) -> Iterator[tuple[tuple[str | int, ...], FieldType]]:
        """The fields of one kind, each with its key."""
        requests: list[tuple[tuple[str | int, ...], Request]] = [((), self)]
        requests += [(("steps", index), step) for index, step in enumerate(self.steps or [])]
        for at, request in requests:
            for name, field in request.fields.items():
                if isinstance(field, kind):
                    yield (*at, "fields", name), field


class Workload(Model):
    """A weighted mix of operations."""

    description: str = ""
    """What it is for."""
    entry: WorkloadEntry | None = None
    """Where its requests enter: ``SERVICE``, or ``SERVICE:PORT`` by the port's name; by default the application's
    entry."""
    protocol: Literal["http/1.1", "http/2", "grpc", "zmq"] | None = None
    """The protocol of its requests, instead of ``load.protocol``. With ``zmq`` an operation is a message, its ``body``,
    which a REQ socket of ZeroMQ sends."""
    operations: Annotated[dict[OperationName, Operation], Field(min_length=1)]
    """By name, which is what they are called in results."""

    def findings(self) -> Iterator[Finding]:
        for name, operation in self.operations.items():
            found = operation.message_findings() if self.protocol == "zmq" else operation.findings()
            for path, message in found:
                yield ("operations", name, *path), message

    def for_host(self, host: str) -> Workload:
        """With a ``Host`` header in every request that has none."""
        return self.model_copy(update={"operations": {name: op.for_host(host) for name, op in self.operations.items()}})

    def request_names(self) -> list[str]:
        """What its requests are called in results."""
        return [called for name, operation in self.operations.items() for called in operation.request_names(name)]


def operation_plan(name: str, operation: Operation) -> dict[str, Any]:
    """One entry of ``operations`` in the plan of ``stone load``."""
    plan: dict[str, Any] = {"name": name, "weight": operation.weight}
    if operation.steps is None:
        return plan | operation.plan()
    if operation.fields:
        plan["fields"] = _fields_plan(operation.fields)
    return plan | {"steps": [step.plan() for step in operation.steps]}
