"""What LM Studio's refusals mean where the general rules do not say it."""

from __future__ import annotations

import re

from llmbench_mcp.backends.client import Answer, error_in
from llmbench_mcp.domain.errors import DoesNotFit, EndpointError, IncompatibleError, PromptTooLong, ServerFault
from llmbench_mcp.domain.text import one_line

_NO_ROOM = re.compile(
    r"insufficient system resources|not enough (system )?(resources|memory)|insufficient memory|out of memory"
    r"|failed to allocate|unable to allocate|cudamalloc failed",
    re.I,
)
_NO_PATH = re.compile(r"unexpected endpoint", re.I)
_ITS_401 = re.compile(rb"LM Studio API token|lmstudio\.ai", re.I)


def path_missing(answer: Answer) -> bool:
    """Whether the server has no such path. LM Studio says so with status 200 and an ``error`` text."""
    if answer.status in (404, 405):
        return True
    error = error_in(answer.body)
    return answer.status == 200 and error is not None and bool(_NO_PATH.search(error.message))


def bears_its_name(answer: Answer) -> bool:
    """Whether a refused request was refused by LM Studio: its 401 asks for its own kind of token."""
    return answer.status in (401, 403) and bool(_ITS_401.search(answer.body))


def load_failure(refusal: EndpointError, name: str) -> EndpointError:
    """Why a load failed: its words about memory, context or templates are about the model and not about a prompt."""
    if _NO_ROOM.search(refusal.what):
        return DoesNotFit(refusal.what, "Unload other models, choose a smaller one, or load it with a shorter context.")
    if isinstance(refusal, PromptTooLong | IncompatibleError):
        return ServerFault(
            f"'{one_line(name, 80)}' could not be loaded. {refusal.what}", "Look at LM Studio's developer log."
        )
    return refusal
