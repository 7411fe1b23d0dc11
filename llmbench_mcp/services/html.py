"""HTML made of parts that cannot be forgotten to be escaped: text is text, markup comes from ``el`` alone."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence

from llmbench_mcp.domain.text import visible

_EMPTY = frozenset({"meta", "meter"})
_TEXT_LIMIT = 2_000


class Markup(str):
    """Markup, as ``el`` and ``join`` make it; any other text is escaped where it is put in."""

    __slots__ = ()


def el(name: str, /, *inside: str, **attributes: str | float) -> Markup:
    """An element. Attribute names lose a trailing underscore and ``_`` becomes ``-``: ``class_``, ``http_equiv``."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(visible(str(value)))}"'
        for key, value in attributes.items()
    )
    if name in _EMPTY and not inside:
        return Markup(f"<{name}{given}>" + ("</meter>" if name == "meter" else ""))
    return Markup(f"<{name}{given}>{join(inside)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Parts one after the other, plain text among them escaped."""
    return Markup("".join(part if isinstance(part, Markup) else text(part) for part in parts))


def text(value: str) -> Markup:
    """Text of any origin: harmless characters, escaped, cut where it is absurdly long."""
    cut = value if len(value) <= _TEXT_LIMIT else value[:_TEXT_LIMIT] + "…"
    return Markup(html.escape(visible(cut)))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table with a head."""
    head = el("thead", el("tr", *(el("th", one) for one in heads)))
    return el("table", head, el("tbody", *(el("tr", *(el("td", cell) for cell in row)) for row in rows)))


def page(title: str, style: str, *body: str) -> str:
    """A whole document that loads nothing, runs nothing and sends nothing, whatever stands in it."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title),
        Markup(f"<style>{style}</style>"),
    )
    return "<!DOCTYPE html>\n" + el("html", head, el("body", *body), lang="en") + "\n"
