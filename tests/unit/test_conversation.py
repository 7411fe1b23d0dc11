"""What the turns of one attempt took together."""

from __future__ import annotations

import pytest

from llmbench_mcp.domain.chat import Completion, Timing, Turn, Usage
from llmbench_mcp.domain.conversation import as_one
from llmbench_mcp.domain.hardware import Energy


def turn(tokens: int | None, tps: float | None, e2e_s: float | None = 1.0, ttft_s: float = 0.2) -> Turn:
    timing = Timing(ttft_s=ttft_s, e2e_s=e2e_s, itl_s=(0.1,), decode_tps=tps)
    return Turn(Completion("", usage=Usage(10, tokens), timing=timing))


def test_tokens_and_seconds_are_summed_and_the_first_token_is_the_first_answer_s() -> None:
    whole = as_one([turn(11, 10.0), turn(31, 60.0, ttft_s=0.1)])
    assert whole.usage == Usage(20, 42)
    assert (whole.timing.ttft_s, whole.timing.e2e_s, whole.timing.itl_s) == (0.2, 2.0, (0.1, 0.1))


def test_decoding_speed_is_all_tokens_over_all_seconds_of_decoding() -> None:
    whole = as_one([turn(11, 10.0), turn(31, 60.0), turn(None, None), turn(1, None)])
    assert whole.timing.decode_tps == pytest.approx(40 / 1.5)
    assert as_one([turn(1, None)]).timing.decode_tps is None


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    whole = as_one([turn(5, 10.0), turn(None, 10.0, e2e_s=None)])
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.timing.e2e_s) == (20, None, None)
    assert Energy(3.0).plus(Energy(4.0)) == Energy(7.0)
    assert Energy(3.0).plus(Energy(reason="no counter")) == Energy(reason="no counter")
