"""The trusted side of project processes: one fresh process and folder for each call of a job.

job: ``replies`` = list of ``[args, kwargs]``, ``patience`` = after how many timeouts the others are not tried, and
``code``, ``function``, ``imports``, ``timeout_s``, ``memory_mb``.
``load_s`` is the time the code, which is our own, has to load.
outcome: ``{replies: [[word, text, value]]}``; ``word`` None means that ``value`` was returned.
"""

from __future__ import annotations

import json
import socket
from typing import Any

from llmbench_validators import wire
from llmbench_validators.runner import Runner
from llmbench_validators.session import CandidateFailed
from llmbench_validators.warm import WarmZygote

_MAX_REPLIES_BYTES = 3 << 20
_TOO_LARGE = ["output_limit", "returned a value that is too large or too deep", None]
_TIRED = ["timeout", "not tried, because too much before it ran out of time", None]


def replies(job: dict[str, Any], zygote: WarmZygote, parent: socket.socket) -> dict[str, Any]:
    """Make every call of ``job``, each in a process of its own. Raises SandboxFault as sessions do."""
    calls = job["replies"]
    most = _MAX_REPLIES_BYTES // max(1, len(calls))
    made: list[list[Any]] = []
    for call in calls:
        tired = sum(reply[0] == "timeout" for reply in made) >= job["patience"]
        made.append(_TIRED if tired else _bounded(_reply(job, call, zygote, parent), most))
    return {"replies": made}


def _reply(job: dict[str, Any], call: Any, zygote: WarmZygote, parent: socket.socket) -> list[Any]:
    args, kwargs = call
    runner = Runner(job, zygote, parent, 1)
    try:
        runner.ready()
        runner.begin_stage()  # the time it took to load, which is our own code's, is not the answer's
        reply = runner.call(wire.encode(args), wire.encode(kwargs))
    except CandidateFailed as exc:
        return [exc.word, exc.text, None]
    finally:
        runner.drop()
    return [reply.word, reply.text, reply.value]


def _bounded(reply: list[Any], most: int) -> list[Any]:
    """``reply`` unless it would take more than ``most`` bytes of the outcome all replies share."""
    try:
        size = len(json.dumps(wire.encode(reply)))
    except (wire.NotPlain, wire.TooLarge):
        return _TOO_LARGE
    return reply if size <= most else _TOO_LARGE
