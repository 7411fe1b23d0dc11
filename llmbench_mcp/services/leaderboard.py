"""The leaderboard: comparable rows of one suite, ranked with intervals."""

from __future__ import annotations

from dataclasses import dataclass

from llmbench_mcp.domain.leaderboard import Entry, RankBy, rank
from llmbench_mcp.services.suites import Suites, SuiteView
from llmbench_mcp.store.leaderboard import LeaderboardStore


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A ranked suite, best first; rows without a rank come last with the reason."""

    suite: SuiteView
    rank_by: RankBy
    entries: tuple[Entry, ...]


class Leaderboards:
    """Use cases about rankings."""

    def __init__(self, store: LeaderboardStore, suites: Suites) -> None:
        self._store = store
        self._suites = suites

    async def query(
        self, suite: str, rank_by: RankBy = "score", model: str | None = None, *, exclude_non_logic: bool = False
    ) -> Leaderboard:
        """Rank all rows of a suite; ``model`` then keeps rows whose model name contains that text.

        ``exclude_non_logic``: without attempts that failed on format, refusal, budget and the like, to see what a model
        could do; tasks that have no others count as not graded.

        Raises:
            NotFoundError: no such suite.
        """
        view = await self._suites.get(suite)
        rows = await self._store.rows(view.suite.name, view.weights, view.hashes)
        entries = rank(rows, len(view.tasks), rank_by, exclude_non_logic=exclude_non_logic)
        if model:
            entries = [entry for entry in entries if model.casefold() in entry.row.model.casefold()]
        return Leaderboard(view, rank_by, tuple(entries))

    async def suites_with_results(self) -> list[str]:
        """Names of suites that any job was made for."""
        return await self._store.suites()
