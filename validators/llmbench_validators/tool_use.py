"""The ``tool_use`` validator: holds the calls a model made against those it should have made.

Keys of its VALIDATION block: ``tools`` or ``available_functions``, ``expected_calls`` or ``turns``, ``order``
any|strict, ``match`` strict|bfcl, and ``calls`` any|native: with ``native`` a call that is only written into the text
is ``call_in_text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmbench_validators import tool_turns
from llmbench_validators.tool_spec import read_specs
from llmbench_validators.tool_verdict import NAME, VERSION, judge, read_answer
from llmbench_validators.types import Completion, Verdict

__all__ = ["NAME", "VERSION", "validate"]


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Grade a completion by its calls. Raises ValidationSpecError for a block that is wrong."""
    tasks = read_specs(spec)
    last = read_answer(
        completion.text, completion.tool_calls, tasks[0].tools, cut_off=completion.finish_reason == "length"
    )
    if len(tasks) == 1:
        return judge(tasks[0], last)
    return tool_turns.judge_all(tasks, [*tool_turns.read_earlier(tasks, completion.earlier), last])
