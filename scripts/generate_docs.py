"""Writes docs/reference from the models, so that neither can say what the other does not.

``generate_docs.py`` writes the files; ``--check`` changes nothing and exits 1 if one is not current.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from loadstone.api import reference
from loadstone.applications.compose_import.schema import ComposeService, Extension
from loadstone.applications.compose_import.uncarried import NOT_CARRIED, REFUSED
from loadstone.cli import reference as cli
from loadstone.model import columns, errors
from loadstone.model.application import Application
from loadstone.model.document import schema
from loadstone.model.errors import LoadstoneError
from loadstone.model.records.base import writers_schema
from loadstone.model.records.iteration import Iteration
from loadstone.model.records.node import protocol
from loadstone.model.records.summary import TrialSummary
from loadstone.model.study import Study
from loadstone.report import paper_figures

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
FIGURES = FOLDER / "paper-figures.yaml"
PROTOCOL = FOLDER.parents[1] / "loadstone" / "infrastructure" / "machines" / "protocol.schema.json"
NOTE = "<!-- Written by scripts/generate_docs.py (`make docs`); change the model instead. -->\n\n"
SUCCESS = "Done: the study is complete, or the requested information was printed; a gate passed, or could not tell."


def pages() -> dict[str, str]:
    """The text of every generated file, by name."""
    return {
        "study.md": model_page("Study file", Study, "study.schema.json"),
        "application.md": model_page("Application file", Application, "application.schema.json"),
        "columns.md": columns_page(),
        "compose-files.md": compose_page(),
        "paper-figures.md": paper_figures.markdown(
            yaml.safe_load(FIGURES.read_text(encoding="utf-8")), NOTE.replace("the model", FIGURES.name)
        ),
        "exit-codes.md": exit_codes_page(),
        "round-trips.md": round_trips_page(),
        "cli.md": cli.markdown(NOTE.replace("the model", "its verb")),
        "python-api.md": reference.markdown(NOTE.replace("the model", "its docstrings")),
        "study.schema.json": json.dumps(schema(Study), indent=2) + "\n",
        "application.schema.json": json.dumps(schema(Application), indent=2) + "\n",
        "summary.schema.json": json.dumps(writers_schema(TrialSummary), indent=2) + "\n",
    }


def model_page(title: str, model: type[BaseModel], schema_file: str) -> str:
    """A section for each object of a file, with its keys."""
    whole = schema(model)
    name = whole["title"]
    parts = [
        f"# {title}\n\n{NOTE}",
        f"For completion and checks in an editor, put this in the first line of the file:\n"
        f"`# yaml-language-server: $schema=PATH/{schema_file}`. Keys without a default must be given.\n\n",
        section(name, {**whole, "properties": own_keys_first(model, whole["properties"])}),
    ]
    parts += [section(name, whole["$defs"][name]) for name in in_order(whole)]
    return "".join(parts).rstrip() + "\n"


def own_keys_first(model: type[BaseModel], properties: dict[str, Any]) -> dict[str, Any]:
    """A study's own keys before the settings that it inherits."""
    inherited = {key for base in model.__bases__ for key in getattr(base, "model_fields", {})}
    return dict(sorted(properties.items(), key=lambda item: item[0] in inherited))


def in_order(whole: dict[str, Any]) -> list[str]:
    """The names of all objects, in the order in which a reader meets them."""
    found: list[str] = []
    queue = [whole]
    while queue:
        for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(queue.pop(0)["properties"])):
            if name not in found:
                found.append(name)
                queue.append(whole["$defs"][name])
    return found


def section(name: str, part: dict[str, Any]) -> str:
    """One object's heading, description and table of keys."""
    lines = [f"## {name}", "", prose(part.get("description", "")), "", "| key | value | default | meaning |"]
    lines.append("|---|---|---|---|")
    required = part.get("required", [])
    for key, field in part["properties"].items():
        meaning = prose(field.get("description", "")).replace("\n", " ")
        lines.append(f"| `{key}` | {value(field)} | {default(key, field, required)} | {meaning} |")
    for pattern, field in part.get("patternProperties", {}).items():
        lines.append(f"| `{pattern}` | {value(field)} | | |".replace("^p([1-9]\\d?|99\\d{1,3})$", "p50, p99, p999 ..."))
    return "\n".join(lines) + "\n\n"


def prose(text: str) -> str:
    """A docstring as Markdown."""
    return text.replace("``", "`").replace("|", "or")


def default(key: str, field: dict[str, Any], required: list[str]) -> str:
    """What holds where a key is left out."""
    if key in required or "default" not in field:
        return ""
    match field["default"]:
        case {} if "$ref" in field:
            return "as below"
        case None | "" | [] | {}:
            return "none"
        case bool() as yes:
            return f"`{str(yes).lower()}`"
        case float() as number:
            return f"`{number:.12g}`"
        case other:
            return f"`{other}`"


def value(field: dict[str, Any]) -> str:
    """What may be written, in words."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if options := field.get("anyOf") or field.get("oneOf"):
        return " or ".join(value(option) for option in options if option.get("type") != "null")
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{option}`" for option in field["enum"])
    if "quantity" in field:
        return f"{field['quantity']} like `{field['examples'][-1]}`"
    match field.get("type"):
        case "array":
            return f"list of: {value(field['items'])}"
        case "object":
            inner = [*field.get("patternProperties", {}).values(), field.get("additionalProperties")]
            described = [value(item) for item in inner if isinstance(item, dict)]
            return f"by name: {described[0]}" if described else "keys and values"
        case "string":
            if "pattern" not in field:
                return "text"
            return (
                "duration like `200ms`"
                if "ms|s" in field["pattern"]
                else f"text: `{field['pattern']}`".replace("|", "\\|")
            )
        case "integer":
            return "whole number" + bounds(field)
        case "number":
            return "number" + bounds(field)
        case "boolean":
            return "`true`, `false`"
    return "any"


def bounds(field: dict[str, Any]) -> str:
    """``, 1 to 64``"""
    low, above, high = field.get("minimum"), field.get("exclusiveMinimum"), field.get("maximum")
    parts = [f" from {low:,g}"] if low is not None else [f" above {above:,g}"] if above is not None else []
    return "".join([*parts, f" to {high:,.12g}" if high is not None else ""])


def columns_page() -> str:
    """The columns of ``trials.parquet``."""
    intro = (
        "One row a trial, finished or invalid. Every figure and table of the report reads this file alone or with the\n"
    )
    intro += (
        "trial's `summary.json`. `null *`: also of a trial that broke and was stopped, for it has no number of its\n"
    )
    intro += "whole window; what was counted until then is in its `summary.json`.\n"
    intro += "How each figure is defined: [metrics](../explanation/metrics.md).\n\n"
    own = (
        "## iterations.parquet\n\nIn the folder of a trial whose clients sent a number of requests: one row for each\n"
    )
    own += (
        "iteration of each client. Its requests have the same `client` and `iteration` in `requests.parquet`, where\n"
    )
    own += "`load.record_requests` writes that.\n\n"
    return f"# Columns of trials.parquet\n\n{NOTE}{intro}{columns.markdown()}\n{own}{columns.markdown(Iteration)}"


def compose_page() -> str:
    """What is carried of compose files, what is not and why, and what can be added to them."""
    documented = ("build", "container_name", "networks", "profiles")  # what becomes of these stands in warnings
    carried = [f"`{key}`" for key in ComposeService.model_fields if key not in documented]
    reasons: dict[str, list[str]] = {}
    for path, keys in NOT_CARRIED.items():
        above = "".join(f"{part}." for part in path if part not in ("services", "*"))
        for key, reason in keys.items():
            reasons.setdefault(reason, []).append(f"`{above}{key}`")
    refused = {f"`{key}`": reason for keys in REFUSED.values() for key, reason in keys.items()}
    lines = [
        f"# Compose files\n\n{NOTE}How to use them: [import a compose file](../how-to/import-a-compose-file.md).\n",
        section("x-loadstone", schema(Extension)),
        f"## Carried\n\nOf a service: {', '.join(carried)}.\n",
        "Read as `docker compose` reads them, with the loader of its project: `a.yml:b.yml` are two files of which the"
        " second overrides the first, a folder is its compose file and its override; `include`, `extends`, profiles,"
        " anchors and merge keys, variables from the environment and `.env`. Other keys that begin with `x-` are left"
        " out.\n",
        "## Not carried\n\nEach is named as a warning, with its line.\n\n| why | keys |\n|---|---|",
        *(f"| {reason} | {', '.join(dict.fromkeys(keys))} |" for reason, keys in reasons.items()),
        "\n## Refused\n\n| key | why |\n|---|---|",
        *(f"| {key} | {reason} |" for key, reason in {"`build` alone": "images are not built here", **refused}.items()),
    ]
    return "\n".join(lines) + "\n"


def exit_codes_page() -> str:
    """Exit codes of ``loadstone``, with the errors that have them."""
    lines = [f"# Exit codes\n\n{NOTE}| code | meaning |", "|---|---|", f"| 0 | {SUCCESS} |"]
    lines += [f"| {code} | {' '.join(meanings)} |" for code, meanings in sorted(exit_codes().items())]
    return "\n".join(lines) + "\n"


def exit_codes() -> dict[int, list[str]]:
    """The meanings of each code; 1 is what no other kind of error says."""
    found = {1: ["Something unexpected: a defect of Loadstone. The message names a file with the details."]}
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, LoadstoneError | errors.Interrupted) and kind is not LoadstoneError:
            found.setdefault(kind.exit_code, []).append((inspect.getdoc(kind) or "").replace("\n", " "))
    return found


COUNTED = ("published", "default", "quirks")
"""The columns of ``round-trips.json`` that count requests, as the tables have them."""


def round_trips_page() -> str:
    """The requests of each operation to services and stores, beside those of the published application."""
    sections = [round_trips_section(name, file) for name, file in round_trips_files().items()]
    note = NOTE.replace("the model", "`round-trips.json` of the application")
    return (ROUND_TRIPS.format(note=note) + "".join(sections)).rstrip() + "\n"


ROUND_TRIPS = """# Round trips

{note}How often the services of an application call each other and their stores for one request of each operation:
in the published application (counted in its source), by default, and under `profile: dsb-quirks`. The last two are
counted from the spans of requests to the running application over PostgreSQL, memcached and Redis; `TestRoundTrips` of
each application fails when they change. Where one of the two differs from the published number, the note says why.

Operations follow one another in the order of the tables, so that each finds in the caches what those before it left
there. A pipeline or a multi-get is one round trip. Reads of services at their start are not counted. Memcached has
one command for one key and for many, which spans call `MGET`. Of documents, `get`, `find` and `head` read,
`insert`, `push`, `pull` and `add` write, each in one step.

"""


def round_trips_files() -> dict[str, Path]:
    """Where each application's counts are, by its name."""
    apps = Path(__file__).parents[1] / "stone" / "apps"
    folders = {"hotel-reservation": "hotel", "social-network": "social", "media-microservices": "media"}
    return {name: apps / folder / "round-trips.json" for name, folder in folders.items()}


def round_trips_section(name: str, file: Path) -> str:
    """An application's totals by operation, then the calls between services."""
    operations = json.loads(file.read_text(encoding="utf-8"))
    lines = [f"## {name.replace('-', ' ').title()}", "", f"What it does: [{name}]({name}.md).", ""]
    lines += ["| operation | RPCs: published | default | `dsb-quirks` | stores: published | default | `dsb-quirks` |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for operation in operations:
        sums = [
            sum(requests(row[column]) for row in operation["rows"] if is_store(row["peer"]) == stores)
            for stores in (False, True)
            for column in COUNTED
        ]
        lines.append(f"| {operation['operation']} | {' | '.join(map(str, sums))} |")
    lines += [
        "",
        "| operation | caller > callee | published | default | `dsb-quirks` | note |",
        "|---|---|---|---|---|---|",
    ]
    for operation in operations:
        for number, row in enumerate(operation["rows"]):
            cells = [row[column] or "-" for column in COUNTED]
            cells = [operation["operation"] if number == 0 else "", f"`{row['service']}` > `{row['peer']}`", *cells]
            lines.append(f"| {' | '.join(cells)} | {row.get('note', '')} |")
    return "\n".join(lines) + "\n\n"


def requests(cell: str) -> int:
    """The number of round trips in ``2 MGET, 1 SET``."""
    return sum(int(part.split()[0]) for part in cell.split(", ") if part)


def is_store(peer: str) -> bool:
    """Stores are named by their software."""
    return peer.startswith(("documents-", "memcached-", "redis-"))


def stale() -> list[str]:
    """The generated files that are missing or not what they would be now."""
    return [
        name
        for name, text in pages().items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]


if __name__ == "__main__":
    old = stale()
    if sys.argv[1:] == ["--check"]:
        sys.exit(f"not current, run `make docs`: {', '.join(old)}" if old else 0)
    for name in old:
        (FOLDER / name).write_text(pages()[name], encoding="utf-8")
    PROTOCOL.write_text(json.dumps(protocol.schema(), indent=2) + "\n", encoding="utf-8")
    print(f"written: {', '.join(old)}" if old else "all current")
