"""The tools, one module each."""

from __future__ import annotations

from llmbench_mcp.server.spec import ToolSpec


def every_tool() -> tuple[ToolSpec, ...]:
    """All tools in the order an agent meets them."""
    from llmbench_mcp.server.tools import (
        credential_request,
        endpoint_add,
        endpoint_list,
        gpu_stats,
        leaderboard_query,
        model_assign,
        model_compare,
        model_get,
        model_list,
        model_residency,
        models_discover,
        results_clear,
        results_export,
        run_cancel,
        run_list,
        run_results,
        run_retry,
        run_start,
        run_status,
        suite_list,
    )

    modules = (
        endpoint_list,
        endpoint_add,
        credential_request,
        models_discover,
        model_list,
        model_get,
        model_assign,
        model_residency,
        suite_list,
        run_start,
        run_status,
        run_list,
        run_results,
        run_cancel,
        run_retry,
        leaderboard_query,
        model_compare,
        gpu_stats,
        results_export,
        results_clear,
    )
    return tuple(module.TOOL for module in modules)
