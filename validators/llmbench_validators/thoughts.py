"""A model's reasoning, where it comes inside the text: what is left is the answer."""

from __future__ import annotations

import re

_TAGS = "think|thinking|thought|thoughts|reasoning|reflection|analysis"
_OPEN = re.compile(rf"(?:^|(?<=\n))[ \t]*(?:<({_TAGS})>|\[(THINK)\]|◁(think)▷)", re.IGNORECASE)
_ANY_CLOSE = re.compile(
    rf"(?:(?:^|(?<=\n))[ \t]*(?:</(?:{_TAGS})>|\[/THINK\]|◁/think▷))"
    rf"|(?:(?:</(?:{_TAGS})>|\[/THINK\]|◁/think▷)[ \t]*(?=\n|$))",
    re.IGNORECASE,
)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final(?:<\|constrain\|>\w+)?<\|message\|>")
_CHANNEL = "<|channel|>"


def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}>|\[/{name}\]|◁/{name}▷", re.IGNORECASE)


def answer(text: str) -> tuple[str, bool]:
    """The text after its reasoning, and whether a reasoning part was left open (then nothing after it counts).

    Tags open a reasoning part at a line's start only, so that code which mentions one stays whole.
    """
    if _CHANNEL in text:
        return _last_channel(text)
    text = _without_pairs(text)
    if (opening := _OPEN.search(text)) is not None:
        return text[: opening.start()], True
    closings = list(_ANY_CLOSE.finditer(text))
    return (text[closings[-1].end() :] if closings else text), False


def _without_pairs(text: str) -> str:
    position = 0
    while (opening := _OPEN.search(text, position)) is not None:
        name = next(group for group in opening.groups() if group)
        closing = _closing(name).search(text, opening.end())
        if closing is None:
            return text
        text = text[: opening.start()] + text[closing.end() :]
        position = opening.start()
    return text


def _last_channel(text: str) -> tuple[str, bool]:
    finals = list(_FINAL_CHANNEL.finditer(text))
    return (text[finals[-1].end() :], False) if finals else ("", True)
