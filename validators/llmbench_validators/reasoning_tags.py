"""Thinking out loud, taken out of an answer before it is judged."""

from __future__ import annotations

import re

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)"
_TAG = re.compile(
    rf"(?P<open><\|?{_NAMES}\|?>|\[THINK\]|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>)"
    rf"|</\|?{_NAMES}\|?>|<\|/{_NAMES}\|>|\[/THINK\]|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)


def strip_reasoning(text: str) -> tuple[str, bool]:
    """The text outside reasoning tags, and whether a tag was left open.

    A closing tag without an opening one ends reasoning that began before the text (chat templates often write
    the opening tag into the prompt). After an opening tag that is never closed nothing is an answer.
    """
    kept: list[str] = []
    position, inside = 0, False
    for tag in _TAG.finditer(text):
        if tag["open"] is None:
            if not inside:
                kept.clear()
            position, inside = tag.end(), False
        elif not inside:
            kept.append(text[position : tag.start()])
            inside = True
    if not inside:
        kept.append(text[position:])
    return "".join(kept), inside
