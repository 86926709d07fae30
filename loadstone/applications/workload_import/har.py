"""What a browser recorded (HAR, HTTP Archive 1.2) as a workload: each request as often as it was recorded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from loadstone.applications.workload_import import ImportedWorkload, counted, read, understood, unique
from loadstone.model import address
from loadstone.model.errors import InputError

_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH")
_SECRET = ("cookie", "authorization", "proxy-authorization")
_DROPPED = (
    *("host", "connection", "content-length", "transfer-encoding", "te", "upgrade", "keep-alive", "expect"),
    *("if-none-match", "if-modified-since", "cache-control", "pragma", "priority", "accept-encoding"),
    *("user-agent", "referer", "dnt", "upgrade-insecure-requests"),
)
_PLACEHOLDER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*\}")
_LONGEST_NAME = 80


def workload(file: Path, url: str | None = None) -> ImportedWorkload:
    """The requests to the server at ``url``, by default to the one with the most. Raises InputError where there are
    none."""
    log = read(file).get("log")
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise InputError(f"{file}: is no HAR file: it has no 'log' with 'entries'")
    try:
        target = _server(address.parsed(url)) if url is not None else None
    except ValueError as error:
        raise InputError(str(error)) from None
    with understood(file):
        return _workload(file, entries, target)


def _workload(file: Path, entries: list[Any], target: str | None) -> ImportedWorkload:
    recorded = [(urlsplit(str(entry["request"]["url"])), entry) for entry in entries]
    hosts = Counter(_server(where) for where, _ in recorded if where.scheme in address.PORTS)
    if not hosts:
        raise InputError(f"{file}: no request over HTTP was recorded")
    wanted = target if target in hosts else hosts.most_common(1)[0][0]
    operations: dict[str, dict[str, Any]] = {}
    left: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    secret = False
    braced: set[str] = set()
    for where, entry in recorded:
        if _server(where) != wanted:
            left.setdefault("they went to other servers", []).append(where.netloc.rpartition("@")[2])
            continue
        label = f"{entry['request']['method']} {where.path}"
        if why := _unusable(entry):
            left.setdefault(why, []).append(label)
            continue
        request, had_secret = _request(where, entry["request"])
        secret = secret or had_secret
        braced |= set(_headers(entry["request"])) - set(request.get("headers", ()))
        key = repr(request)
        if key in names:
            operations[names[key]]["weight"] += 1
            continue
        method = "" if request.get("method", "GET") == "GET" else f"{request['method'].lower()}:"
        names[key] = unique(method + address.operation_name(where.path)[:_LONGEST_NAME], operations)
        operations[names[key]] = {"weight": 1, **request}
    notes = [text for why, some in left.items() for text in counted(file, some, "request", why)]
    notes.append(f"{file}: the order of the requests and the pauses between them are dropped; only how often is kept")
    if target not in (None, wanted):
        notes.append(f"{file}: nothing went to {target}, so it gets what went to {wanted}")
    if secret:
        notes.append(f"{file}: cookies and credentials are left out; add a header that is needed, under 'headers'")
    if braced:
        some = ", ".join(sorted(braced))
        notes.append(f"{file}: {some} is left out where it has a word in braces, which would be taken for a field")
    if writes := [name for name, each in operations.items() if each.get("method", "GET") not in ("GET", "HEAD")]:
        notes.append(f"{file}: {len(writes)} operations change data, and are sent many times ({', '.join(writes[:3])})")
    if not operations:
        raise InputError("\n".join([f"{file}: no request of it can be repeated", *notes]))
    description = f"Requests as often as {file.name} has them, in no order."
    return ImportedWorkload(wanted, {"description": description, "operations": operations}, notes)


def _server(url: SplitResult) -> str:
    """The server of a request, in one form: without credentials, and without the port that its scheme has anyway."""
    if url.scheme not in address.PORTS:
        return f"{url.scheme}://{url.netloc}"
    host, port = url.hostname or "", address.port(url)
    return f"{url.scheme}://{address.joined(host, port).removesuffix(f':{address.PORTS[url.scheme]}')}"


def _unusable(entry: Mapping[str, Any]) -> str:
    """Why a request cannot be repeated; empty where it can."""
    request, status = entry["request"], entry.get("response", {}).get("status", 0)
    if request["method"] not in _METHODS:
        return f"{request['method']} is not supported"
    if status < 100 or status >= 400:
        return "they failed when they were recorded"
    if (request.get("postData") or {}).get("encoding") or _body(request) is None:
        return "their body is not text"
    if not _is_text([request["url"], _body(request), *_headers(request).values()]):
        return "they have a half of a character (a lone surrogate)"
    if _PLACEHOLDER.search(_body(request) or ""):
        return "their body has a word in braces, which would be taken for a field"
    return ""


def _is_text(parts: list[Any]) -> bool:
    """Whether all can be written: JSON may have a half of a character."""
    try:
        "".join(map(str, parts)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _request(where: SplitResult, request: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """One operation, and whether a secret was left out."""
    path = address.path(where).replace("{", "%7B").replace("}", "%7D").replace(" ", "%20")
    found: dict[str, Any] = {} if request["method"] == "GET" else {"method": request["method"]}
    found["path"] = path
    headers = {name: value for name, value in _headers(request).items() if not _PLACEHOLDER.search(value)}
    if headers:
        found["headers"] = headers
    if body := _body(request):
        found["body"] = body
    names = [str(each["name"]).lower() for each in request.get("headers", ())]
    return found, where.username is not None or any(name in _SECRET for name in names)


def _headers(request: Mapping[str, Any]) -> dict[str, str]:
    """Those that the load generator does not make itself, and that are no secret."""
    given: dict[str, str] = {}
    for each in request.get("headers", ()):  # one that is there twice is one with both values
        name = next((name for name in given if name.lower() == str(each["name"]).lower()), str(each["name"]))
        given[name] = f"{given[name]}, {each['value']}" if name in given else str(each["value"])
    return {
        name: value
        for name, value in given.items()
        if name.lower() not in (*_DROPPED, *_SECRET) and not name.lower().startswith((":", "sec-"))
    }


def _body(request: Mapping[str, Any]) -> str | None:
    """The text of a body: the fields of a form stand in its place. None where it is not text."""
    data = request.get("postData") or {}
    if data.get("text") or not data.get("params"):
        return str(data.get("text") or "")
    if not str(data.get("mimeType", "")).startswith("application/x-www-form-urlencoded"):
        return None
    return urlencode([(str(each["name"]), str(each.get("value", ""))) for each in data["params"]])
