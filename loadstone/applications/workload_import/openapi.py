"""An OpenAPI (or Swagger 2.0) file as a workload: every GET whose parameters have examples, with equal weights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from loadstone.applications.workload_import import ImportedWorkload, counted, read, understood, unique
from loadstone.model import address
from loadstone.model.base import abridged
from loadstone.model.errors import InputError

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_LONGEST_CHAIN = 20
"""References that lead to references."""


class _NoExample(Exception):
    """A parameter that a request needs has no value."""


class _Unresolved(Exception):
    """A reference leads nowhere, with the reason."""


def workload(file: Path) -> ImportedWorkload:
    """The GETs of an API. Raises InputError where the file is no OpenAPI file, or no GET can be requested."""
    data = read(file)
    if not ({"openapi", "swagger"} & set(data) and isinstance(data.get("paths"), dict)):
        raise InputError(f"{file}: is no OpenAPI file: it has no 'openapi' and 'paths'")
    try:
        with understood(file):
            return _workload(file, data)
    except _Unresolved as error:
        raise InputError(f"{file}: {error}") from None


def _workload(file: Path, data: dict[str, Any]) -> ImportedWorkload:
    url, prefix = _server(data)
    operations: dict[str, Any] = {}
    others: list[str] = []
    without: list[str] = []
    secured: list[str] = []
    for path, item in data["paths"].items():
        item = _resolved(data, item) or {}
        others += [f"{method.upper()} {path}" for method in _METHODS[1:] if method in item]
        if "get" not in item:
            continue
        operation = _resolved(data, item["get"]) or {}
        parameters = [_resolved(data, each) for each in (*item.get("parameters", ()), *operation.get("parameters", ()))]
        try:
            request = _request(data, prefix + path, parameters)
        except _NoExample as missing:
            without.append(f"GET {path} ({missing})")
            continue
        security = operation.get("security", data.get("security"))
        if security and {} not in security:  # an empty one makes the others optional
            secured.append(f"GET {path}")
        name = re.sub(r"[^A-Za-z0-9_:/-]", "-", str(operation.get("operationId") or address.operation_name(path)))
        operations[unique(name, operations)] = request
    notes = [
        *counted(file, others, "request", "only GETs are written, as others change data"),
        *counted(file, without, "request", "a parameter has no example; give it one, or write the operation"),
    ]
    if secured:
        need = "needs" if len(secured) == 1 else "need"
        notes.append(f"{file}: {abridged(secured, 3)} {need} credentials; add their header to the workload")
    if not operations:
        raise InputError("\n".join([f"{file}: has no GET that can be requested", *notes]))
    title = (data.get("info") or {}).get("title", file.name)
    return ImportedWorkload(
        url, {"description": f"The GETs of {title}, equally often.", "operations": operations}, notes
    )


def _server(data: Mapping[str, Any]) -> tuple[str | None, str]:
    """``http://host:port`` of the first server, if it names a host, and the path before all others."""
    if "swagger" in data:
        scheme = next(iter(data.get("schemes") or ["http"]))
        text = f"{scheme}://{data['host']}" if data.get("host") else ""
        text += str(data.get("basePath", ""))
    else:
        server = next(iter(data.get("servers") or [{}]))
        variables = server.get("variables", {})
        text = re.sub(r"\{(\w+)\}", lambda found: str(variables[found[1]]["default"]), str(server.get("url", "")))
    url = urlsplit(text)
    known = url.scheme in address.PORTS and url.hostname
    return (f"{url.scheme}://{url.netloc}" if known else None), url.path.rstrip("/")


def _resolved(data: Mapping[str, Any], part: Any, depth: int = 0) -> Any:
    """A part of the file, or what it refers to in the same file; raises _Unresolved for another file."""
    if not (isinstance(part, dict) and isinstance(part.get("$ref"), str)):
        return part
    found: Any = data
    if not part["$ref"].startswith("#/"):
        raise _Unresolved(f"{part['$ref']}: only references within the file are read; bundle it into one file")
    if depth > _LONGEST_CHAIN:
        raise _Unresolved(f"{part['$ref']}: refers to itself")
    for key in part["$ref"][2:].split("/"):
        found = found.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    if found is None:
        raise _Unresolved(f"{part['$ref']}: the file has no such part")
    return _resolved(data, found, depth + 1)


def _request(data: Mapping[str, Any], path: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    """One operation; raises _NoExample with the name of a parameter."""
    fields: dict[str, Any] = {}
    query: list[str] = []
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for parameter in {(each.get("in"), each.get("name")): each for each in parameters}.values():
        name, where = str(parameter.get("name")), parameter.get("in")
        if where not in ("path", "query", "header", "cookie") or not (parameter.get("required") or where == "path"):
            continue
        examples = _examples(data, parameter)
        values = [text for example in examples if (text := _text(example)) is not None]
        if not values:
            raise _NoExample(name)
        if where == "header":
            headers[name] = values[0]
            continue
        if where == "cookie":
            cookies.append(f"{name}={values[0]}")
            continue
        if where == "query" and isinstance(examples[0], list) and _is_repeated(data, parameter):
            query += [f"{quote(name, safe='')}={quote(_text(each) or '', safe='')}" for each in examples[0]]
            continue
        if len(values) > 1:  # values of a field are percent-encoded when they are sent
            word = re.sub(r"\W", "_", f"_{name}" if name[:1].isdigit() else name, flags=re.ASCII)
            field = unique(word, fields, "_")
            fields[field] = {"kind": "choice", "values": values}
            text = f"{{{field}}}"
        else:
            text = quote(values[0], safe="")
        if where == "path":
            path = path.replace(f"{{{name}}}", text)
        else:
            query.append(f"{quote(name, safe='')}={text}")
    if unknown := set(re.findall(r"\{([^{}]*)\}", path)) - set(fields):
        raise _NoExample(", ".join(sorted(unknown)))
    if cookies:
        headers["Cookie"] = "; ".join(cookies)
    request: dict[str, Any] = {"path": path + ("?" + "&".join(query) if query else "")}
    return request | ({"headers": headers} if headers else {}) | ({"fields": fields} if fields else {})


def _text(value: Any) -> str | None:
    """A value as a request has it, those of a list with commas between them; None for what has no such form."""
    match value:
        case str():
            return value
        case list():
            texts = [text for each in value if (text := _text(each)) is not None]
            return ",".join(texts) if value and len(texts) == len(value) else None
        case bool() | int() | float():
            return json.dumps(value)
    return None


def _is_repeated(data: Mapping[str, Any], parameter: Mapping[str, Any]) -> bool:
    """Whether a query has its name before each value of a list, as OpenAPI 3 does by default."""
    if "swagger" in data:
        return parameter.get("collectionFormat") == "multi"
    return bool(parameter.get("explode", parameter.get("style", "form") == "form"))


def _examples(data: Mapping[str, Any], parameter: Mapping[str, Any]) -> list[Any]:
    """The values that a parameter may have: its examples, else those of its schema, its enumeration, its default."""
    schema = _resolved(data, parameter.get("schema")) or {}
    return next((found for found in (list(_of(data, parameter)), list(_of(data, schema))) if found), [])


def _of(data: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[Any]:
    if "example" in part:
        yield part["example"]
        return
    examples = part.get("examples") or ()
    for each in examples.values() if isinstance(examples, dict) else examples:
        each = _resolved(data, each)
        yield each["value"] if isinstance(each, dict) and "value" in each else each
    if not examples:
        yield from part.get("enum") or ([part["default"]] if "default" in part else [])
