"""The reference page of the command line, from its verbs and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from loadstone.cli.main import VERBS, verb

_INTRODUCTION = """\
`loadstone VERB --help` prints the same. Before a verb: `--allow-path FOLDER` lets compose files read
files below another folder, `--version` prints the version, `--install-completion` completes verbs and
options in bash, zsh and fish. How each of them can end: [exit codes](exit-codes.md).

"""


def markdown(note: str) -> str:
    """The text of ``docs/reference/cli.md``; ``note`` stands under its title."""
    return f"# Command line\n\n{note}{_INTRODUCTION}" + "\n".join(_section(name) for name in VERBS)


def _section(name: str) -> str:
    """A verb: what it does, its usage, its arguments and options, its examples."""
    command = verb(name)
    arguments = " ".join(_argument(each) for each in command.params if each.param_type_name == "argument")
    usage = f"loadstone {name} [OPTIONS] {arguments}".rstrip()
    rows = "\n".join(f"| `{what}` | {meaning} |" for what, meaning in _rows(command.params))
    table = f"\n| | |\n|---|---|\n{rows}\n" if rows else ""
    about = "\n\n".join(" ".join(part.split()) for part in (command.help or VERBS[name]).split("\n\n"))
    examples = "\n".join(re.findall(r"\[bold\](.*?)\[/\]", command.epilog or ""))
    shown = f"\n```sh\n{examples}\n```\n" if examples else ""
    return f"## {name}\n\n{about}\n\n```text\n{usage}\n```\n{table}{shown}"


def _argument(argument: Any) -> str:
    """As a line of usage has it: what may be left out in brackets."""
    name = argument.metavar or argument.name.upper()
    return (name if argument.required else f"[{name}]") + ("..." if argument.nargs != 1 else "")


def _rows(parameters: list[Any]) -> Iterator[tuple[str, str]]:
    """Each parameter as it is written, and what it means."""
    for each in parameters:
        is_option = each.param_type_name == "option"
        value = each.metavar or ("" if getattr(each, "is_flag", False) else each.name.upper())
        option = f"{', '.join(sorted(each.opts, key=len, reverse=True))} {value}".strip()
        name = option if is_option else _argument(each)
        meaning = (each.help or "").replace("|", "or").replace("[default: ", "(default: ").rstrip(".")
        notes = []
        if is_option and each.default not in (None, False, (), []):
            notes.append(f"default `{each.default}`")
        if getattr(each, "envvar", None):
            notes.append(f"or `${each.envvar}`")
        yield name.replace("|", "\\|"), meaning + (f"; {', '.join(notes)}." if notes else ".")
