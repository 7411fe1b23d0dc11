"""Speed under load, as people see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llmbench_mcp.cli import figures
from llmbench_mcp.cli.grid import Column

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.domain.speed import Quantiles
    from llmbench_mcp.services.speeds import SpeedRow

_COLUMNS = (
    Column("Model", drop=2),
    Column("Endpoint", drop=1),
    Column("Prompt", right=True),
    Column("Answer", right=True),
    Column("At once", right=True),
    Column("TTFT p50/p90/p99 ms", right=True),
    Column("ITL p50/p90/p99 ms", right=True),
    Column("tok/s stream", right=True),
    Column("tok/s all", right=True),
    Column("Good", right=True),
    Column("Good/s", right=True, drop=3),
)


def speed_tables(rows: Sequence[SpeedRow]) -> list[RenderableType]:
    """One row for each level of load, and what counts as good; nothing without measurements."""
    from llmbench_mcp.cli import tables

    if not rows:
        return []
    limits = rows[0].limits
    told = f"Good: first token within {figures.number(limits.ttft_s)} s, then {figures.number(limits.itl_s * 1000)} ms"
    grid = tables.slim("", _COLUMNS, [_row(row) for row in rows], ["Model", "Endpoint"])
    return [grid, tables.sentence(f"{told} from token to token on average. Prompt and answer in tokens, the median.")]


def _row(row: SpeedRow) -> tuple[str, ...]:
    found = row.figures
    return (
        row.model,
        row.endpoint,
        figures.number(found.prompt_tokens),
        figures.number(found.completion_tokens),
        str(row.concurrency),
        _three(found.ttft_s),
        _three(found.itl_s),
        figures.number(found.stream_tps),
        figures.number(found.total_tps),
        figures.percent(found.good),
        figures.number(found.goodput_rps),
    )


def _three(found: Quantiles | None) -> str:
    if found is None:
        return figures.UNKNOWN
    return "/".join(figures.number(seconds * 1000) for seconds in (found.p50, found.p90, found.p99))
