"""What importers add to a data set's own words, so that an answer can be read."""

from __future__ import annotations

import re

CODE = "Answer with the whole code, its imports included, in one fenced Python block."
FINAL_NUMBER = "Work it out step by step. End with a line that holds only #### and the final number."
BOXED = r"Work it out step by step. Put the final answer, and nothing else, into \boxed{}."
LETTER = 'End with a line "Answer: X", X being the letter of the right choice.'
FINAL_LINE = 'End with a line "Answer: ", followed by the answer alone.'

_UNFIT = re.compile(r"[^a-z0-9_-]+")


def fenced(code: str, language: str = "python") -> str:
    """Code in a fence that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{code.rstrip()}\n{ticks}"


def slug(text: str) -> str:
    """A name that can be part of a task's id, made of any text; empty when nothing of it can."""
    return _UNFIT.sub("_", text.casefold()).strip("_-")[:64]
