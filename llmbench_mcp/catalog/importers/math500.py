"""MATH (Hendrycks et al. 2021, arXiv:2103.03874) and its part MATH-500: problems with an answer in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import BOXED, slug
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.task import Difficulty
from llmbench_mcp.domain.text import one_line

_LEVELS = {"1": "easy", "2": "easy", "3": "medium", "4": "hard", "5": "hard"}


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of every file; ``--split`` takes subjects, such as algebra."""
    number = 0
    for name in bundle.some(r"\.jsonl?(\.gz)?$", "JSON file"):
        for row in json_rows(bundle, name):
            subject = slug(row.optional("subject", "type"))
            if not wish.parts or subject in wish.parts:
                yield _item(row, f"{number:04d}", subject)
            number += 1


def _item(row: Row, name: str, subject: str) -> Item:
    solution = row.text("solution")
    answer = row.text("answer").strip() if "answer" in row.values else _boxed(row, solution)
    level = str(row.values.get("level", ""))[-1:]
    problem = row.text("problem").strip()
    return Item(
        name=name,
        title=one_line(problem, 60),
        prompt=f"{problem}\n\n{BOXED}",
        validation={"type": "reasoning", "expected_answer": answer, "answer_type": "latex"},
        where=row.where,
        difficulty=cast(Difficulty, _LEVELS.get(level, "medium")),
        tags=(subject,) if subject else (),
        answer=Answer(solution),
    )


def _boxed(row: Row, solution: str) -> str:
    r"""What the last ``\boxed`` encloses."""
    start = solution.rfind(r"\boxed{")
    depth = 0
    for at in range(start + 6, len(solution) if start >= 0 else 0):
        depth += {"{": 1, "}": -1}.get(solution[at], 0)
        if depth == 0 and solution[start + 7 : at].strip():
            return solution[start + 7 : at].strip()
    raise row.error(r"has no answer, and its solution no \boxed{…}.", "One of them must say what is right.")


IMPORTER = Importer(
    title="MATH",
    description="Competition mathematics; answers in LaTeX are compared by value where the extra math is installed.",
    licence="MIT",
    read=read,
    parts="subjects, such as algebra or number_theory",
)
MATH_500 = replace(IMPORTER, title="MATH-500")
