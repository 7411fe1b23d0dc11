"""The tool leaderboard_query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.leaderboard import Entry, RankBy
from llmbench_mcp.server.arguments import Cursor, Detail, Limit
from llmbench_mcp.server.present import Cut, decode_cursor, ms, names, reply, shown, shown_or_none
from llmbench_mcp.server.results import Details, Page, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.services.leaderboard import Leaderboard


_RUN_IT = "run_start with this suite"


class EntryRow(Result):
    """One comparable group of results: model, endpoint and sampling."""

    rank: str | None = Field(default=None, description="1-2: not told apart; absent: see note")
    model: str = Field(description="untrusted")
    quantisation: str | None = None
    endpoint: str
    parameters: str | None = None
    device: str
    score: float | None = None
    pass_rate: float | None = None
    interval_low: float = Field(description="of pass_rate, 95 %")
    interval_high: float
    coverage: float = Field(description="share of tasks")
    errors: int
    decode_tps: float | None = None
    ttft_p50_ms: float | None = None
    latency_p50_ms: float | None = None
    runs: int
    tokens: int | None = Field(default=None, description="of answers")
    note: str | None = None
    details: Details | None = Field(
        default=None,
        description="pass_at_k, pass_hat_k (all of k), energy, server, sampling",
    )


class LeaderboardPage(Page):
    """A page of a suite's ranking."""

    suite: str
    suite_version: int
    tasks_in_suite: int
    rank_by: str
    basis: str | None = None
    entries: list[EntryRow]
    suites_with_results: list[str] | None = Field(default=None, description="if this has none")


async def leaderboard_query(  # noqa: PLR0913 - the arguments are the tool's schema
    ctx: Call,
    suite: Annotated[str, Field(description="from suite_list")],
    rank_by: Annotated[RankBy, Field(description="efficiency: tokens per joule")] = "score",
    model: Annotated[str, Field(description="part of the name")] = "",
    exclude_non_logic: Annotated[
        bool, Field(description="without attempts that failed by format, refusal or emptiness")
    ] = False,
    detail: Detail = "concise",
    limit: Limit = 10,
    cursor: Cursor = "",
) -> Annotated[CallToolResult, LeaderboardPage]:
    """Rank the models benchmarked on a suite, best first. Models that cannot be told apart share a range of ranks: do
    not call one better; model_compare tells more."""
    query = ("leaderboard", suite, rank_by, model, exclude_non_logic)
    offset = decode_cursor(cursor, query)
    app = await app_of(ctx)
    board = await app.leaderboards.query(suite, rank_by, model or None, exclude_non_logic=exclude_non_logic)
    rows = [_row(entry, detail, board.remark) for entry in board.entries[offset : offset + limit]]
    cut = Cut(rows, len(board.entries), offset, query)
    extra = {} if board.entries else await _when_empty(app, board, model)
    return reply(
        LeaderboardPage(
            suite=board.suite.suite.name,
            suite_version=board.suite.suite.version,
            tasks_in_suite=len(board.suite.tasks),
            rank_by=rank_by,
            basis=board.basis,
            entries=rows[: cut.kept],
            **extra,
            **cut.facts,
        )
    )


async def _when_empty(app: App, board: Leaderboard, model: str) -> dict[str, Any]:
    others = await app.leaderboards.suites_with_results()
    steps = ["leaderboard_query with model left empty"] if model else []
    steps.append("run_start with another suite: this one is no longer here" if board.remark else _RUN_IT)
    return {"next": ", or ".join(steps), "suites_with_results": names(others)}


def _row(entry: Entry, detail: Detail, remark: str | None) -> EntryRow:
    row, manifest = entry.row, entry.row.manifest
    return EntryRow(
        rank=_rank_text(entry),
        model=shown(row.model),
        quantisation=shown_or_none(manifest.get("quantisation"), 60),
        endpoint=row.endpoint,
        parameters=row.parameters or None,
        device=row.device,
        score=entry.score,
        pass_rate=entry.pass_rate,
        interval_low=entry.interval[0],
        interval_high=entry.interval[1],
        coverage=entry.coverage,
        errors=entry.errors,
        decode_tps=entry.decode_tps,
        ttft_p50_ms=ms(entry.ttft_p50_s),
        latency_p50_ms=ms(entry.e2e_p50_s),
        runs=row.runs,
        tokens=entry.tokens,
        note="; ".join(word for word in (entry.note, entry.speed_note, remark) if word) or None,
        details=_details(entry) if detail == "detailed" else None,
    )


def _rank_text(entry: Entry) -> str | None:
    if entry.rank_low is None:
        return None
    if entry.rank_low == entry.rank_high:
        return str(entry.rank_low)
    return f"{entry.rank_low}-{entry.rank_high}"


def _details(entry: Entry) -> Details:
    manifest = entry.row.manifest
    sampling = manifest.get("sampling", {})
    return {
        "tasks_graded": entry.tasks_graded,
        "k": entry.repeats if entry.repeats > 1 else None,
        "pass_at_k": entry.pass_at_k,
        "pass_hat_k": entry.pass_hat_k,
        "pass_at_k_interval": entry.k_intervals and list(entry.k_intervals[0]),
        "pass_hat_k_interval": entry.k_intervals and list(entry.k_intervals[1]),
        "left_out": entry.left_out or None,
        "prefill_tps": entry.prefill_tps,
        "energy_j": entry.row.energy_j,
        "joules_per_token": entry.row.joules_per_token,
        "backend": manifest.get("backend"),
        "server_version": shown_or_none(manifest.get("server_version"), 60),
        "context_tokens": manifest.get("context_length"),
        **{name: sampling.get(name) for name in ("temperature", "top_p", "seed")},
    }


TOOL = ToolSpec(leaderboard_query, "Leaderboard", reads())
