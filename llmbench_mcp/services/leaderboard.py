"""The leaderboard: comparable rows of one suite, ranked with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from llmbench_mcp.domain.comparison import may_be_set_side_by_side
from llmbench_mcp.domain.leaderboard import Entry, RankBy, Row, basis, rank
from llmbench_mcp.services.ranked import Remembered, ranked_suite
from llmbench_mcp.services.suites import Suites, SuiteView
from llmbench_mcp.store.leaderboard import LeaderboardStore


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A ranked suite, best first; rows without a rank come last with the reason.

    ``basis``: what the order rests on, where that has to be told. ``remark``: of a suite that is gone, how it is ranked
    all the same; its view then has the tasks' ids alone.
    """

    suite: SuiteView
    rank_by: RankBy
    entries: tuple[Entry, ...]
    basis: str | None = None
    remark: str | None = None

    @property
    def has_ties(self) -> bool:
        """Whether the evidence leaves any order open."""
        return any(entry.rank_low != entry.rank_high for entry in self.entries)

    @property
    def has_comparable_ties(self) -> bool:
        """Whether two that share a rank can be compared, too: they have other names and were asked alike."""
        pairs = itertools.combinations([entry for entry in self.entries if entry.rank_low != entry.rank_high], 2)
        return any(one.meets(other) and may_be_set_side_by_side(one.row, other.row) for one, other in pairs)


_KEPT = 16


@dataclass(slots=True)
class _Kept:
    """A suite's rankings as they were last made: many agents ask for the same."""

    view: SuiteView
    weights: Mapping[str, float]
    hashes: Mapping[str, str]
    remembered: Remembered | None = None
    rows: list[Row] | None = None
    rankings: dict[tuple[RankBy, bool], list[Entry]] = field(default_factory=dict)

    def ranking(self, rows: list[Row], rank_by: RankBy, exclude_non_logic: bool) -> list[Entry]:
        """Made anew only for other rows: the store gives the same list where nothing has changed."""
        if rows is not self.rows:
            self.rows, self.rankings = rows, {}
        key = (rank_by, exclude_non_logic)
        if key not in self.rankings:
            self.rankings[key] = rank(rows, len(self.view.tasks), rank_by, exclude_non_logic=exclude_non_logic)
        return self.rankings[key]


class Leaderboards:
    """Use cases about rankings."""

    def __init__(self, store: LeaderboardStore, suites: Suites) -> None:
        self._store = store
        self._suites = suites
        self._kept: dict[str, _Kept] = {}

    async def query(
        self, suite: str, rank_by: RankBy = "score", model: str | None = None, *, exclude_non_logic: bool = False
    ) -> Leaderboard:
        """Rank all rows of a suite; ``model`` then keeps rows whose model name contains that text.

        ``exclude_non_logic``: without attempts that failed on format, refusal, budget and the like, to see what a model
        could do; tasks that have no others count as not graded.

        Raises:
            NotFoundError: no such suite, and no results of one that is gone.
        """
        view, remembered = await ranked_suite(self._suites, self._store, suite)
        kept = self._kept_for(view, remembered)
        rows = await self._store.rows(view.suite.name, kept.weights, kept.hashes)
        entries = kept.ranking(rows, rank_by, exclude_non_logic)
        told = basis(sum(entry.ranked for entry in entries), rank_by)
        if model:
            entries = [entry for entry in entries if model.casefold() in entry.row.model.casefold()]
        return Leaderboard(view, rank_by, tuple(entries), told, remembered.remark if remembered else None)

    def _kept_for(self, view: SuiteView, remembered: Remembered | None) -> _Kept:
        name = view.suite.name
        kept = self._kept.pop(name, None)
        if kept is None or (kept.view, kept.remembered) != (view, remembered):
            kept = _Kept(view, view.weights, remembered.hashes if remembered else view.hashes, remembered)
        self._kept[name] = kept
        while len(self._kept) > _KEPT:
            self._kept.pop(next(iter(self._kept)))
        return kept

    async def suites_with_results(self) -> list[str]:
        """Names of suites that any job was made for."""
        return await self._store.suites()
