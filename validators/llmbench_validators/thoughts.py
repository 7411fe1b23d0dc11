"""A model's reasoning, where it comes inside the text: what is left is the answer."""

from __future__ import annotations

import re

_TAGS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_TAG = rf"[ \t]*(?:<(\|?(?:{_TAGS})\|?)>|\[(THINK)\]|◁(think)▷|<\|begin_of_(thought)\|>)"
_OPEN_HERE = re.compile(_TAG, re.IGNORECASE)
_OPEN = re.compile(rf"(?:^|(?<=\n)){_TAG}", re.IGNORECASE)
_CLOSE = rf"(?:</\|?(?:{_TAGS})\|?>|<\|/(?:{_TAGS})\|>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>)"
_ORPHAN = re.compile(rf"(?<![\"'`]){_CLOSE}(?![\"'`])", re.IGNORECASE)
# One of these is in every tag, so that most texts need no search for tags at every place.
_IN_TAGS = ("think", "thought", "reasoning", "reflection", "scratchpad", "analysis")
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final(?:<\|constrain\|>\w+)?<\|message\|>")
_CHANNEL = "<|channel|>"


def answer(text: str) -> tuple[str, bool]:
    """The text after its reasoning, and whether a reasoning part was left open (then nothing after it counts).

    Tags open a reasoning part at a line's start only, so that code which mentions one stays whole. A closing tag
    without an opening one ends reasoning that began before the text, as chat templates often write the opening tag
    into the prompt; between quotation marks it is part of the text.
    """
    if _CHANNEL in text:
        return _last_channel(text)
    folded = text.casefold()
    if not any(word in folded for word in _IN_TAGS):
        return text, False
    kept, left_open = _without_pairs(text)
    if left_open:
        return kept, True
    closings = list(_ORPHAN.finditer(kept))
    return (kept[closings[-1].end() :] if closings else kept), False


def _without_pairs(text: str) -> tuple[str, bool]:
    """The text outside closed reasoning parts, up to one that is never closed."""
    kept: list[str] = []
    position = 0
    opening = _OPEN.search(text)
    while opening is not None:
        kept.append(text[position : opening.start()])
        closing = _closing(next(group for group in opening.groups() if group)).search(text, opening.end())
        if closing is None:
            return "".join(kept), True
        position = closing.end()
        opening = _OPEN_HERE.match(text, position) or _OPEN.search(text, position)
    return "".join([*kept, text[position:]]), False


def _closing(name: str) -> re.Pattern[str]:
    word = name.strip("|")
    return re.compile(rf"</\|?{word}\|?>|<\|/{word}\|>|\[/{word}\]|◁/{word}▷|<\|end_of_{word}\|>", re.IGNORECASE)


def _last_channel(text: str) -> tuple[str, bool]:
    finals = list(_FINAL_CHANNEL.finditer(text))
    return (text[finals[-1].end() :], False) if finals else ("", True)
