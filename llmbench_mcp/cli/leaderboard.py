"""``leaderboard``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli.session import Session, session
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.services.leaderboard import Leaderboard


class RankWord(StrEnum):
    """What to rank by."""

    score = "score"
    pass_rate = "pass_rate"  # noqa: S105 - a rate of passed tasks
    speed = "speed"
    efficiency = "efficiency"


def leaderboard(
    context: typer.Context,
    suite: Annotated[str | None, typer.Argument(help="Needless while only one suite has results.")] = None,
    rank_by: Annotated[RankWord, typer.Option(help="What to rank by.")] = RankWord.score,
    exclude_non_logic: Annotated[
        bool, typer.Option("--exclude-non-logic", help="Without format errors, refusals, empty answers and the like.")
    ] = False,
) -> None:
    """Rank the models on a suite, with 95 % intervals and ties."""
    here = session(context)

    async def work(app: App) -> Leaderboard | list[str]:
        names = [suite] if suite else await app.leaderboards.suites_with_results()
        if len(names) != 1:
            return names
        return await app.leaderboards.query(names[0], rank_by.value, exclude_non_logic=exclude_non_logic)

    found = here.use(work)
    if isinstance(found, list):
        _show_choice(here, found)
        return
    from llmbench_mcp.cli import shapes

    here.show(shapes.leaderboard(found), lambda: render(found))


def _show_choice(here: Session, names: list[str]) -> None:
    from llmbench_mcp.cli import tables

    listed = f"Several suites have results: {', '.join(names)}. Name one: llmbench-mcp leaderboard SUITE"
    empty = "There are no results yet. Start a run: llmbench-mcp run start --model M --suite S"
    here.show({"suites_with_results": names}, lambda: [tables.sentence(listed if names else empty)])


def render(board: Leaderboard) -> Iterable[RenderableType]:
    """A leaderboard for people."""
    from llmbench_mcp.cli import tables

    suite = board.suite.suite
    if not board.entries:
        yield tables.sentence(_nothing(board))
        return
    name = suite.name if suite.title == suite.name else f"{suite.title} ({suite.name})"
    yield tables.leaderboard(board.entries, f"{name}, by {board.rank_by.replace('_', ' ')}")
    yield from map(tables.sentence, _about_ranks(board))
    if board.remark:
        yield tables.sentence(f"Note: {board.remark}.")


def _about_ranks(board: Leaderboard) -> Iterator[str]:
    """What a range of ranks means, what the order rests on, and how to look closer where that is possible."""
    if board.has_ties:
        yield "A range of ranks: those rows cannot be told apart."
    if board.basis:
        yield f"Ranks: {board.basis}."
    if board.has_comparable_ties and board.rank_by in ("score", "pass_rate"):
        yield f"See: llmbench-mcp compare A B --suite {shlex.quote(one_line(board.suite.suite.name, 80))}"


def _nothing(board: Leaderboard) -> str:
    name = one_line(board.suite.suite.name, 80)
    if board.remark:
        return f"Suite {name} is no longer here, and nothing of it has ended."
    return f"Suite {name} has no results yet. Start a run: llmbench-mcp run start --suite {name} --model MODEL"
