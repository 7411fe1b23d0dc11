from __future__ import annotations

import io

from llmbench_mcp.cli.output import console
from llmbench_mcp.cli.speed_table import speed_tables
from llmbench_mcp.domain.speed import Timed, speed_figures
from llmbench_mcp.domain.task import SpeedLimits
from llmbench_mcp.services.speeds import SpeedRow

LIMITS = SpeedLimits(0.5, 0.05)


def shown(*rows: SpeedRow) -> str:
    out = io.StringIO()
    for part in speed_tables(rows):
        console(out).print(part, crop=False)
    return out.getvalue()


def row(concurrency: int, *timed: Timed, failed: int = 0) -> SpeedRow:
    return SpeedRow("m", "box", "speed", "speed/x", concurrency, LIMITS, speed_figures(timed, failed, LIMITS))


def test_a_level_of_load_is_one_row_and_the_limits_are_told() -> None:
    fast, slow = Timed(0.0, 0.25, 4.0, 40.0, 512, 101), Timed(0.0, 0.75, 4.0, 10.0, 512, 101)
    told = shown(row(2, fast, slow), row(1, failed=3))
    assert "within 0.500 s, then 50 ms" in told
    assert "500/700/745" in told
    assert "50 %" in told
    assert "0 %" in told


def test_without_measurements_there_is_no_table() -> None:
    assert shown() == ""
