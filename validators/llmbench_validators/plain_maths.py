"""Answers rewritten into plain characters: Unicode look-alikes, Markdown emphasis and simple LaTeX."""

from __future__ import annotations

import re
import unicodedata

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_CHARACTERS = str.maketrans(
    {
        "\u2212": "-",
        "\ufe63": "-",
        "\uff0d": "-",
        "\u2013": "-",
        "\u2044": "/",
        "\u00a0": "\u202f",
        "\u2009": "\u202f",
        "\u2007": "\u202f",
        "\u2019": "'",
        "∙": "·",
        "⋅": "·",
        "\uff1a": ":",
        "\uff05": "%",
    }
)
_BRACED = r"\{((?:[^{}]|\{[^{}]*\}){0,400})\}"
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mbox|textrm)\s*" + _BRACED), r" \1 "),
    (re.compile(r"\\[dtc]?frac\s*\{\s*(-?[0-9.,]+)\s*\}\s*\{\s*(-?[0-9.,]+)\s*\}"), r" \1/\2 "),
    (re.compile(r"\\[dtc]?frac\s*([0-9])\s*([0-9])(?![0-9])"), r" \1/\2 "),
    (re.compile(r"\^\s{0,3}\{\s{0,3}\\circ\s{0,3}\}|\^\s{0,3}\\circ(?![a-z])|\\degree\b|°"), " "),
    (re.compile(r"\\(?:left|right|displaystyle|boldsymbol)(?![a-zA-Z])\s*"), ""),
    (re.compile(r"\\(?:times|cdot)(?![a-zA-Z])"), "\u00d7"),
    (re.compile(r"\\(?:approx|simeq|sim)(?![a-zA-Z])"), "≈"),
    (re.compile(r"\\div(?![a-zA-Z])"), "÷"),
    (re.compile(r"\\pm(?![a-zA-Z])"), "±"),
    (re.compile(r"\\pi(?![a-zA-Z])"), "π"),
    (re.compile(r"\\sqrt(?![a-zA-Z])"), "√"),
    (re.compile(r"\\(?:ldots|dots|cdots)(?![a-zA-Z])"), "…"),
    (re.compile(r"\\(?:quad|qquad)(?![a-zA-Z])|\\\\"), " "),
    (re.compile(r"(?<=[0-9])(?:\\,|\\;|\\ |\{,\})(?=[0-9]{3}(?![0-9]))"), ","),
    (re.compile(r"(?<=[0-9],)\\!(?=[0-9])"), ""),
    (re.compile(r"\\[,!;: ]"), " "),
    (re.compile(r"\\\[|\\\]|\\\(|\\\)|\$\$"), " "),
    (re.compile(r"\\([%$&#_])"), r"\1"),
    (re.compile(r"\b(?:US|CA|AU|NZ|HK)(?=\$)"), ""),
    (re.compile(r"(?<=[A-Za-z0-9])[$£€¥₹](?=[0-9])"), " "),
    (re.compile(r"[$£€¥₹]\s?(?=-?[0-9.])"), ""),
    (re.compile(r"[$£€¥₹]"), " "),
    (re.compile(r"(?<![0-9])\*\*|\*\*(?![0-9])|__|`"), ""),
    (re.compile(r"(?<=[0-9])\u202f(?=[0-9]{3}(?![0-9]))"), ","),
    (re.compile(r"(?<=[0-9])['_](?=[0-9]{3}(?![0-9]))"), ","),
    (re.compile(r"\u202f"), " "),
)
_LONG_GAP = re.compile(r"\s{5,}")  # shortened, so that no pattern meets a run of blanks it could be slow on
_VULGAR = re.compile(r"[¼-¾⅐-⅞]")
_RAISED = re.compile(r"(?<=[0-9A-Za-z)])[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


def plain(text: str) -> str:
    """The text with numbers, minus signs, fractions, currency and emphasis in their plainest spelling.

    ``\\boxed`` is left alone. Grouped digits keep a comma whatever their separator was; a raised
    ``⁸`` becomes ``^8``; units and words stay.
    """
    text = _LONG_GAP.sub(lambda match: "\n\n\n" if "\n" in match[0] else "   ", text)
    text = _VULGAR.sub(_unvulgar, unicodedata.normalize("NFC", text))
    text = _RAISED.sub(lambda match: "^" + match[0].translate(_SUPERSCRIPTS), text)
    text = "".join(_digit(char) for char in text.translate(_CHARACTERS))
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return text


def _unvulgar(match: re.Match[str]) -> str:
    return " " + unicodedata.normalize("NFKC", match[0]).replace("\u2044", "/") + " "


def _digit(char: str) -> str:
    if char.isascii() or unicodedata.category(char) != "Nd":
        return char
    return str(unicodedata.decimal(char))
