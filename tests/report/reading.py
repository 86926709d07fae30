"""Reads a page as a strict parser does, and takes its tables apart."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Fails on tags that are not nested; collects tables, ids, links, and the text of each element with an id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.ids: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self._section = ""
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if identity := given.get("id"):
            self.ids.append(identity)
            if tag == "section":
                self._section = identity
        self.links += [value for name, value in attrs if name in ("href", "src", "data", "action") and value]
        if tag == "br":
            self.handle_data(" ")
        if tag == "tr":
            self.tables.setdefault(self._section, []).append([])
        elif tag in ("td", "th"):
            self.tables[self._section][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>, line {self.getpos()[0]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)
        if "tr" in self.open and ("td" in self.open or "th" in self.open):
            self.tables[self._section][-1][-1] += data

    def rows(self, section: str) -> list[dict[str, str]]:
        """The rows of a section's first table by the words of its head."""
        head, *rows = ([" ".join(cell.split()) for cell in row] for row in self.tables[section])
        return [dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)]
