"""Which of a task's regular expressions an answer matches.

A pattern may backtrack without end, and Python's ``re`` then holds every thread of its process: all but the plainest
are tried in a child process with a limit.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_validators.types import ValidationSpecError

_REPEATS = re.compile(r"[*+{]")


def found(patterns: Sequence[re.Pattern[str]], text: str) -> list[bool]:
    """By pattern, whether it matches anywhere in the text.

    Raises:
        ValidationSpecError: that took too long; a fault of the task. SandboxFault: the child process failed.
    """
    if not any(_REPEATS.search(pattern.pattern) for pattern in patterns):
        return [pattern.search(text) is not None for pattern in patterns]
    from llmbench_validators import limited  # needs a POSIX system

    job = {"path": sys.path, "patterns": [[each.pattern, each.flags] for each in patterns], "text": text}
    try:
        reply = limited.in_child("patterns", json.dumps(job).encode(), "matching the task's patterns")
    except limited.LimitExceeded as error:
        raise ValidationSpecError(f"{error}: write them so that they cannot backtrack without end") from error
    return [bool(hit) for hit in json.loads(reply)]


def serve(job: Mapping[str, Any]) -> None:
    """The child's side: limit this process, match, write the results to standard output."""
    from llmbench_validators import limited

    patterns = [re.compile(text, flags) for text, flags in job["patterns"]]
    limited.restrain()
    json.dump([pattern.search(job["text"]) is not None for pattern in patterns], sys.stdout)
