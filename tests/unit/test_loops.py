"""When a streaming answer counts as repeating itself, and when it does not."""

from __future__ import annotations

import base64
import random

import pytest

from llmbench_mcp.domain.loops import LoopWatch


def cut_at(text: str, piece: int = 5) -> int | None:
    """How many characters had come when the watch cut in."""
    watch = LoopWatch()
    for start in range(0, len(text), piece):
        if watch(text[start : start + piece]) is not None:
            return start + piece
    return None


PARAGRAPH = (
    "So the answer must be 42, because the train leaves at noon and takes three hours to the next town. "
    "Wait, let me check that again: the train leaves at noon, and the next town is three hours away. "
    "Hmm, so the answer must be 42 after all. "
)


def test_a_paragraph_over_and_over_is_cut_after_its_fourth_time() -> None:
    assert cut_at("Let me think.\n" + PARAGRAPH * 50) == pytest.approx(14 + 4 * len(PARAGRAPH), abs=140)


@pytest.mark.parametrize("block", ["the ", "\n", "0, ", "ha", "I cannot do that. ", "好的我明白了"])
def test_a_short_block_without_end_is_cut_in_the_end(block: str) -> None:
    cut = cut_at(block * 10_000)
    assert cut is not None
    assert cut <= 4_200


@pytest.mark.parametrize("piece", [1, 7, 64, 1000])
def test_the_size_of_the_pieces_does_not_matter_much(piece: int) -> None:
    cut = cut_at(PARAGRAPH * 50, piece)
    assert cut is not None
    assert cut <= 4 * len(PARAGRAPH) + 64 + 2 * piece


def table(rows: int) -> str:
    return "".join(f"| {n} | item {n} | {n * 7 % 101} | yes | 0.00 | 0.00 | 0.00 |\n" for n in range(rows))


def code_lines() -> str:
    same = '    result = result + compute(first, second, third, "constant")  # the same step again\n'
    return "def f():\n" + same * 30 + "    return result\n"


def zeros_matrix() -> str:
    return "[\n" + "    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],\n" * 40 + "]\n"


def random_base64() -> str:
    return base64.b64encode(random.Random(1).randbytes(30_000)).decode()


def four_tests() -> str:
    one = "def test_{n}():\n    cache = Cache(2)\n    cache.put('a', {n})\n    assert cache.get('a') == {n}\n\n"
    return "".join(one.replace("{n}", str(n)) for n in range(200))


LEGITIMATE = {
    "a long table": table(2_000),
    "base64 of random bytes": random_base64(),
    "base64 of a kilobyte of zeros": "data:" + base64.b64encode(bytes(1024)).decode() + "\nend",
    "the same line of code thirty times": code_lines(),
    "a matrix of zeros": zeros_matrix(),
    "generated tests": four_tests(),
    "a verse with its chorus three times": "".join(f"Verse {n}, a new line.\n{PARAGRAPH}\n" for n in range(3)),
    "a ruler": "=" * 400 + "\nTitle\n" + "=" * 400,
    "numbers": " ".join(str(n) for n in range(20_000)),
}


@pytest.mark.parametrize("name", LEGITIMATE)
def test_long_answers_that_make_sense_are_never_cut(name: str) -> None:
    assert cut_at(LEGITIMATE[name]) is None


def test_text_that_changes_a_little_each_time_is_no_loop() -> None:
    assert cut_at("".join(f"Step {n}: {PARAGRAPH}" for n in range(100))) is None
