"""Figures inside a page: matplotlib's SVG with colours that follow the page's theme and ids that do not collide."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from loadstone.report.figures.look import DEFAULT_FONT
from loadstone.report.figures.style import COLOURS, GRID, INK, QUIET

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_THEME = {INK: "ink", QUIET: "quiet", GRID: "grid", **{colour: f"c{i}" for i, colour in enumerate(COLOURS)}}
_RULE = re.compile(r"\.(k\d+)\{([^}]*)\}")
_LARGEST = 1.75
"""Pixels of the page for a point of a figure."""
_REFERENCES = ("clip-path", "style", "fill")


def inline(svg: bytes, name: str, label: str) -> str:
    """An ``<svg>`` element for HTML; ``name`` is unique in the page, ``label`` describes the figure."""
    root = ElementTree.fromstring(svg)
    looks: dict[str, str] = {}
    named: set[str] = set()
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")]:
            looks |= dict(_RULE.findall(child.text or ""))
            parent.remove(child)
    for element in root.iter():
        if len(element):
            element.text = None  # line breaks and indents, of which thousands of markers have as many
        element.tail = None
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")  # HTML knows them by their local names
        if f"{{{_XLINK}}}href" in element.attrib:
            element.set("href", element.attrib.pop(f"{{{_XLINK}}}href"))
        if identity := element.attrib.pop("id", None):
            if identity not in named:  # images of the same pixels have the same id
                element.set("id", f"{name}-{identity}")
            named.add(identity)
        for attribute in _REFERENCES:
            if value := element.get(attribute):
                element.set(attribute, _themed(_renamed(value, name)))
        if (target := element.get("href", "")).startswith("#"):
            element.set("href", f"#{name}-{target[1:]}")
    root.attrib.pop("height", None)
    if width := root.attrib.pop("width", None):  # in points; larger, its letters would be larger than the page's
        root.set("style", f"max-width:{_LARGEST * float(width.removesuffix('pt')):.0f}px")
    rules = "".join(f".{name} .{look}{{{_themed(_renamed(rule, name))}}}" for look, rule in looks.items())
    root.insert(0, ElementTree.Element("style"))
    root[0].text = rules
    root.set("class", name)
    root.set("role", "img")
    root.set("aria-label", label)
    return ElementTree.tostring(root, encoding="unicode")


def _renamed(value: str, name: str) -> str:
    """What refers to an id, with that id as it is in the page; ``#d55e00`` is a colour."""
    return value.replace("url(#", f"url(#{name}-")


def _themed(style: str) -> str:
    for colour, name in _THEME.items():
        style = style.replace(colour, f"var(--{name}, {colour})")
    return re.sub(rf"font-family: '{DEFAULT_FONT}'[^;]*", "font-family: inherit", style)
