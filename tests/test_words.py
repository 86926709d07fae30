"""Names, comments, docstrings and messages use the field's plain words (docs/reference/glossary.md).

``tests/words.txt`` lists the files that still have other words. It only shrinks: a file that is clean leaves it, a new
file never enters it. ``python -m tests.test_words`` prints what is left, by file and line; with ``--shrink`` it takes
clean files off the list.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LISTED = frozenset((ROOT / "tests/words.txt").read_text().split())
INSTEAD = {
    "asked": "requested, the request, the settings",
    "asks": "requests, needs, queries",
    "heed": "respect, apply",
    "himself": "itself",
    "hungry": "the quantity that is short",
    "nobody": "no client, no process: name it",
    "said": "output, text, reported",
    "somebody": "the user",
    "told": "reported, given, result",
    "whoever": "any client: name it",
    "whom": "the client: name it",
}
WHOLE = {"one": "the thing that it is", "who": "the thing that it is", "words": "text, message, sentence"}
"""Off the list as a whole name only."""
_OFF = re.compile(rf"(?<![a-z])(?:{'|'.join(INSTEAD)})(?![a-z])", re.I)
_ANY = re.compile("|".join([*INSTEAD, *WHOLE]), re.I)
_GO_TOKEN = re.compile(
    r"""\"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])+'|(//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*)""", re.DOTALL
)
"""Strings and runes; comments and names are the group."""
_COMMENT = re.compile(rf"#.*(?:{'|'.join(INSTEAD)})", re.I)
_NAME_FIELDS = ("id", "arg", "attr", "name", "asname")
_SNAKE = re.compile(r"(?<=[a-z])(?=[A-Z])")


def violations(name: str, source: str) -> Iterator[tuple[int, str]]:
    """Line and word of every word off the list in a Python or Go file."""
    if name.endswith(".go"):
        for match in _GO_TOKEN.finditer(source):
            for word in _OFF.finditer(_SNAKE.sub("_", match.group(1) or "")):
                line = source.count("\n", 0, match.start()) + match.group().count("\n", 0, word.start()) + 1
                yield line, word.group().lower()
        return
    if _COMMENT.search(source):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield from ((token.start[0], word.lower()) for word in _OFF.findall(token.string))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and " " in node.value.strip():
                yield from ((node.lineno, word.lower()) for word in _OFF.findall(node.value))
            continue
        for field in _NAME_FIELDS:
            if isinstance(text := getattr(node, field, None), str) and _ANY.search(text):
                whole = [text] if text.strip("_").lower() in WHOLE else []
                off = whole or _OFF.findall(_SNAKE.sub("_", text))
                yield from ((getattr(node, "lineno", 1), word.strip("_").lower()) for word in off)


def checked() -> list[str]:
    """All Python and Go files of the repository, relative to it, without generated ones and this one."""
    folders = ("loadstone", "bench", "scripts", "tests", "stone")
    files = [path for folder in folders for kind in ("*.py", "*.go") for path in (ROOT / folder).rglob(kind)]
    names = (path.relative_to(ROOT).as_posix() for path in files if not path.name.endswith(".pb.go"))
    return sorted(name for name in names if name != "tests/test_words.py")


@functools.cache
def _found(name: str) -> list[tuple[int, str]]:
    source = (ROOT / name).read_text()
    return sorted(set(violations(name, source))) if _ANY.search(source) else []


def test_no_file_outside_the_list_has_words_off_the_list() -> None:
    found = {name: _found(name) for name in checked() if name not in LISTED}
    lines = [
        f"{name}:{line}: {word!r}; write {(INSTEAD | WHOLE)[word]}" for name in found for line, word in found[name]
    ]
    assert not lines, "\n".join(lines)


def test_the_list_only_shrinks() -> None:
    clean = [name for name in sorted(LISTED) if not (ROOT / name).exists() or not _found(name)]
    assert not clean, f"remove from tests/words.txt: {', '.join(clean)}"


@pytest.mark.parametrize(
    ("name", "source", "word"),
    [
        ("a.py", "def f(told): pass", "told"),
        ("a.py", "class HungryPool: pass", "hungry"),
        ("a.py", "x = 1  # as nobody reads it", "nobody"),
        ("a.py", '"""What the user asked for."""', "asked"),
        ("a.py", 'raise ValueError(f"was told {x}")', "told"),
        ("a.py", 'print(f"{said} ")', "said"),
        ("a.go", "package a // heed the limit", "heed"),
        ("a.go", "/* nobody\nwaits */ package a", "nobody"),
        ("a.go", "var wasTold bool", "told"),
    ],
)
def test_a_word_off_the_list_is_found(name: str, source: str, word: str) -> None:
    assert [found for _, found in violations(name, source)] == [word]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", 'x = {"said": 1}  # one of them'),
        ("a.py", "someone, bemoaned = 1, 2"),
        ("a.go", 'var x = "// told"'),
        ("a.go", '// a comment\nvar x, y = "told", \'"\''),
    ],
)
def test_keys_of_others_and_longer_words_are_not(name: str, source: str) -> None:
    assert not list(violations(name, source))


if __name__ == "__main__":
    if "--shrink" in sys.argv:
        left = [name for name in checked() if name in LISTED and _found(name)]
        (ROOT / "tests/words.txt").write_text("".join(f"{name}\n" for name in left))
    else:
        for file in checked():
            for number, off in _found(file):
                print(f"{file}:{number}: {off}")
