"""The arguments and options of ``loadstone load``, checked by the study's models; errors name the options."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

from loadstone.applications import catalogue, seeding
from loadstone.experiments import load_files
from loadstone.infrastructure.binary import stone_binary
from loadstone.model import address
from loadstone.model.application import Application
from loadstone.model.base import Finding, Model, did_you_mean
from loadstone.model.dataset import Keys, is_path, is_seeded, resolved
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.load import SCRIPT, Load
from loadstone.model.trial_settings import TrialSettings
from loadstone.model.workload import PLACEHOLDER, Workload

_OPTIONS = {"rates": "rate", "record_requests": "requests", "requests": "count", "tls": "insecure", "headers": "header"}
_INNER = ("think", "pace", "requests", "iterations", "ca", "insecure", "method", "headers", "body", "path")
"""Nested keys that have an option of their own."""
_IN_A_STUDY = {
    "load.timeout": "--timeout",
    "trial.duration": "--duration",
    "tls.ca": "--ca",
    "; paths are relative to the study file": "",
    "when trial.limit was over; raise it, or give fewer requests": "within an hour; give fewer requests",
}
"""Replacements in messages that are written for a study file."""


class LoadSettings(Model):
    """The options that a study has as keys, checked by its models."""

    load: Load
    trial: TrialSettings

    def findings(self) -> Iterator[Finding]:
        yield from ((("load", *path), text) for path, text in self.load.contradictions())
        yield from ((("load", *path), text) for path, text in self.load.misfits(self.trial.duration))
        yield from self.trial.contradictions(self.load)


def settings(load: dict[str, Any], trial: dict[str, Any]) -> LoadSettings:
    """The options, checked; None stands for an option that is not given. Raises InputError with the options' names."""
    given = [{key: value for key, value in part.items() if value is not None} for part in (load, trial)]
    document = Document.of({"load": given[0], "trial": given[1]}, "")
    try:
        parsed = document.parse(LoadSettings)
        found, _ = load_files.resolve(document, parsed.load, Path())
    except InputError as error:
        raise _as_options(error) from None
    return parsed.model_copy(update={"load": found})


def value(option: str, text: str) -> Any:
    """The value of an option, in the syntax of a study file."""
    try:
        found = Document(f"value: {text}", option).data["value"]
    except InputError as error:
        raise InputError(f"{option} {text!r}: {error.problems[0].message}") from None
    if found is None:
        raise InputError(f"{option} {text!r}: has no value; leave it out, or give one")
    return found


def objective(texts: list[str] | None) -> dict[str, str] | None:
    """``p99=200ms`` or ``p50=20ms,p99=200ms`` as a study has it."""
    pairs = [pair.strip().partition("=") for text in texts or [] for pair in text.split(",")]
    if wrong := next((key for key, equals, _ in pairs if not equals), None):
        raise InputError(f"--slo {wrong!r}: write a percentile and its limit, for example p99=200ms")
    keys = [key for key, _, _ in pairs]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise InputError(f"--slo {twice}: is given twice; keep one limit")
    return {key: limit for key, _, limit in pairs} or None


def target(text: str | None, what: str, workload: Workload | Path) -> SplitResult:
    """The target URL of a workload. Raises InputError where it is not an address."""
    messages = isinstance(workload, Workload) and workload.protocol == "zmq"
    example = "tcp://127.0.0.1:5556" if messages else "http://127.0.0.1:8080"
    if text is None:
        raise InputError(f"{what} has no target: give it, for example {example}")
    url = _parsed(text, messages)
    if isinstance(workload, Workload) and text != what and not messages and address.path(url) != "/":
        alone = f"{url.scheme}://{url.netloc}"
        raise InputError(f"{text}: the requests of {what} have paths of their own; give {alone} alone")
    return url


def _parsed(text: str, messages: bool = False) -> SplitResult:
    try:
        return address.parsed(text, messages)
    except ValueError as error:
        raise InputError(str(error)) from None


def workload(what: str, request: dict[str, Any], dataset: str | None = None) -> Workload | Path:
    """What is sent: always the same request, a script's, or an application's workload for a dataset."""
    given = {key: value for key, value in request.items() if value not in (None, {})}
    if dataset is not None and (address.is_url(what) or what.endswith(SCRIPT)):
        raise InputError(f"--dataset {dataset}: only for an application's workload; {what} has no dataset")
    if address.is_url(what):
        return _one_request(_parsed(what), given)
    if given:
        options = ", ".join(f"--{key.rstrip('s')}" for key in given)
        raise InputError(f"{options}: only for a URL; {what} generates its own requests")
    if what.endswith(SCRIPT):
        if not os.path.isfile(what):
            why = "is a folder; give the path of a script" if os.path.isdir(what) else "no such script"
            raise InputError(f"{what}: {why}")
        return Path(what).resolve()
    return _of_application(what, dataset)


def _one_request(url: SplitResult, given: dict[str, Any]) -> Workload:
    path = address.path(url)
    name = address.operation_name(path)
    method = given.get("method", "POST" if "body" in given else "GET")
    request = _literal({**given, "method": method, "path": path})
    document = Document.of({"operations": {name: request}}, "")
    try:
        return document.parse(Workload)
    except InputError as error:
        raise _as_options(error) from None


def _literal(request: dict[str, Any]) -> dict[str, Any]:
    """The request, to be sent as it is given: the opening brace of each ``{name}`` becomes the value of a field."""
    texts = [request["path"], request.get("body", ""), *request.get("headers", {}).values()]
    if not any(map(PLACEHOLDER.search, texts)):
        return request
    braced: dict[str, Any] = {key: _braced(value) for key, value in request.items()}
    return {**braced, "fields": {"brace": {"kind": "choice", "values": ["{"]}}}


def _braced(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _braced(text) for name, text in value.items()}
    return PLACEHOLDER.sub(r"{brace}\1}", value)


def _of_application(what: str, dataset: str | None) -> Workload:
    """``hotel-reservation``, ``hotel-reservation/mixed``, ``my/application.yaml``, ``my/application.yaml/mixed``."""
    found = re.fullmatch(r"(.*\.ya?ml|[^/]+)(?:/([^/]+))?", what)
    name, chosen = found.groups() if found else (what, None)
    if not name.endswith((".yaml", ".yml")) and name not in catalogue.names():
        known = did_you_mean(name, catalogue.names())
        if address.lacks_scheme(what):
            raise InputError(f"{what!r} has no scheme; write http://{what}")
        if os.path.isdir(what):
            raise InputError(f"{what}: is a folder; give the path of its application.yaml")
        raise InputError(f"{what!r} is no URL (http://...), no script (...{SCRIPT}) and no application{known}")
    application = catalogue.load(name).application
    chosen = chosen or application.default_workload
    if chosen not in application.workloads:
        raise InputError(f"{name} has no workload {chosen!r}" + did_you_mean(chosen, list(application.workloads)))
    mix, keys = application.workloads[chosen], _dataset(application, dataset)
    return resolved(mix, seeding.numbers(stone_binary(), application, keys)) if is_seeded(mix) else mix


def _dataset(application: Application, name: str | None) -> Keys:
    """The keys of the dataset ``name``, or of the application's default dataset."""
    if name is not None and is_path(name) and application.datasets:
        if not Path(name).is_file():
            why = "is a folder; give the path of a file" if Path(name).is_dir() else "there is no such file"
            raise InputError(f"--dataset {name}: {why}")
        return {"file": str(Path(name).resolve())}
    if name is not None and name not in application.datasets:
        known = did_you_mean(name, list(application.datasets))
        raise InputError(f"--dataset {name}: {application.name} has no such dataset{known}")
    name = name or application.default_dataset
    return application.datasets[name].keys if name is not None else {}


def _as_options(error: InputError) -> InputError:
    return InputError(
        "\n".join(f"{_option(problem.where)}: {in_options(problem.message)}" for problem in error.problems)
    )


def _option(where: str) -> str:
    """``load.closed.think`` as ``--think``, ``load.slo.p99`` as ``--slo p99``."""
    keys = [key for key in where.split(".") if not key.isdigit()][1:]
    while len(keys) > 1 and any(key in _INNER for key in keys[1:]):
        del keys[0]
    option, *below = keys
    return " ".join([f"--{_OPTIONS.get(option, option).replace('_', '-')}", ".".join(below)]).rstrip()


def in_options(message: str) -> str:
    """A message for a study file or a plan, with the names of the command line's options."""
    for key, option in _IN_A_STUDY.items():
        message = message.replace(key, option)
    return message
