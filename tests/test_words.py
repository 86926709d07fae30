"""Names, comments, docstrings, messages and pages use the field's plain words (docs/reference/glossary.md).

``python -m tests.test_words`` prints every word off the list, by file and line.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
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
NAMES = {"looked": "what was found", "took": "duration", "young": "recent"}
"""Off the list in names."""
WHOLE = {"one": "the thing that it is", "who": "the thing that it is", "words": "text, message, sentence"}
"""Off the list as a whole name only."""
FOLDERS = ("loadstone", "bench", "scripts", "tests", "stone", "docs", "studies")
KINDS = (".py", ".go", ".md", ".sh", ".yaml", ".j2", ".html", ".proto")
HISTORY = ("CHANGELOG.md",)
_OFF = re.compile(rf"(?<![a-z])(?:{'|'.join(INSTEAD)})(?![a-z])", re.I)
_OFF_NAME = re.compile(rf"(?<![a-z])(?:{'|'.join(INSTEAD | NAMES)})(?![a-z])", re.I)
_ANY = re.compile("|".join(INSTEAD | NAMES | WHOLE), re.I)
_GO_TOKEN = re.compile(
    r"""(?P<text>\"(?:\\.|[^"\\\n])*"|`[^`]*`)|'(?:\\.|[^'\\\n])+'|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<name>[A-Za-z_]\w*)""",
    re.DOTALL,
)
_CODE = re.compile(r"^```.*?^```|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
"""What is no prose of a Markdown page: code, and where links lead."""
_COMMENT = re.compile(rf"#.*(?:{'|'.join(INSTEAD)})", re.I)
_WITHOUT_SUBJECT = re.compile(r'^ *"""Of |^.*\S.*\s// [Oo]f (?=[a-z])')
_NAME_FIELDS = ("id", "arg", "attr", "name", "asname")
_SNAKE = re.compile(r"(?<=[a-z])(?=[A-Z])")


def violations(name: str, source: str) -> Iterator[tuple[int, str]]:
    """Line and word of every word off the list in a file of any of ``KINDS``."""
    if name.endswith(".py"):
        yield from _in_python(source)
    elif name.endswith(".go"):
        yield from _in_go(source)
    else:
        prose = _CODE.sub(lambda code: "\n" * code.group().count("\n"), source) if name.endswith(".md") else source
        yield from ((number, word) for number, line in enumerate(prose.split("\n"), 1) for word in _words(line))


def _words(text: str) -> Iterator[str]:
    return (word.lower() for word in _OFF.findall(text))


def _in_go(source: str) -> Iterator[tuple[int, str]]:
    """The strings that contain a space: the others are keys, or names of other programs."""
    for match in _GO_TOKEN.finditer(source):
        text, pattern = match.group(), _OFF_NAME if match["name"] else _OFF
        if (match["text"] and " " not in text[1:-1].strip()) or not match.lastgroup:
            continue
        for word in pattern.finditer(text if match["text"] else _SNAKE.sub("_", text)):
            yield source.count("\n", 0, match.start()) + text.count("\n", 0, word.start()) + 1, word.group().lower()


def _in_python(source: str) -> Iterator[tuple[int, str]]:
    if _COMMENT.search(source):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield from ((token.start[0], word) for word in _words(token.string))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and " " in node.value.strip():
                yield from ((node.lineno, word) for word in _words(node.value))
            continue
        for field in _NAME_FIELDS:
            if isinstance(text := getattr(node, field, None), str) and _ANY.search(text):
                whole = [text] if text.strip("_").lower() in WHOLE else []
                off = whole or _OFF_NAME.findall(_SNAKE.sub("_", text))
                yield from ((getattr(node, "lineno", 1), word.strip("_").lower()) for word in off)


def checked() -> list[str]:
    """All files of ``KINDS`` in the repository, relative to it, without generated Go, history and this file."""
    files = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    names = (path.relative_to(ROOT).as_posix() for path in files if path.suffix in KINDS)
    return sorted(
        name for name in names if not name.endswith(".pb.go") and name not in (*HISTORY, "tests/test_words.py")
    )


@functools.cache
def _found(name: str) -> list[tuple[int, str]]:
    source = (ROOT / name).read_text()
    return sorted(set(violations(name, source))) if _ANY.search(source) else []


def test_no_file_has_words_off_the_list() -> None:
    instead = INSTEAD | NAMES | WHOLE
    lines = [f"{name}:{line}: {word!r}; write {instead[word]}" for name in checked() for line, word in _found(name)]
    assert not lines, "\n".join(lines)


def without_subject(source: str) -> list[int]:
    """The lines of docstrings, and of Go's comments behind code, that begin with "Of": a reader must guess of what."""
    return [number for number, line in enumerate(source.splitlines(), 1) if _WITHOUT_SUBJECT.match(line)]


def test_docstrings_and_comments_name_their_subject_first() -> None:
    files = [name for name in checked() if name.endswith((".py", ".go"))]
    found = [f"{name}:{line}" for name in files for line in without_subject((ROOT / name).read_text())]
    assert not found, f"say what it is before whose it is ('The unit of its values.'): {', '.join(found)}"


def test_what_begins_with_of_is_found() -> None:
    assert without_subject('x = 1\n"""Of a run."""\ny = 2\n"""The count of a run."""\n') == [2]
    assert without_subject("x int // of a run\n// x counts requests\n// of a run.\ny int // of\n") == [1]


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
        ("a.go", "var took time.Duration", "took"),
        ("a.go", 'var s = "stopped as asked"', "asked"),
        ("a.go", "var help = `of whom\nit is`", "whom"),
        ("a.md", "A line.\nWhoever reads it.", "whoever"),
        ("a.sh", 'fail "nobody named $1"', "nobody"),
        ("a.yaml", "a: &said {b: 1}", "said"),
    ],
)
def test_a_word_off_the_list_is_found(name: str, source: str, word: str) -> None:
    assert [found for _, found in violations(name, source)] == [word]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", 'x = {"said": 1}  # one of them'),
        ("a.py", "someone, bemoaned = 1, 2"),
        ("a.go", 'var x = "told"  // how long it took'),
        ("a.go", '// a comment\nvar x, y = "told", \'"\''),
        ("a.md", "User `nobody`, [text](asked.md):\n```sh\nsu nobody\n```"),
    ],
)
def test_keys_of_others_and_longer_words_are_not(name: str, source: str) -> None:
    assert not list(violations(name, source))


if __name__ == "__main__":
    for file in checked():
        for number, off in _found(file):
            print(f"{file}:{number}: {off}")
