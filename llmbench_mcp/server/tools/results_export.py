"""The tool results_export."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp.types import CallToolResult, ResourceLink
from pydantic import Field

from llmbench_mcp.domain.results import Selected
from llmbench_mcp.server.arguments import Names
from llmbench_mcp.server.present import reply, shown
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

_NONE: list[str] = []
_TYPES = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "html": "text/html",
}


class ExportedFile(Result):
    """The file that was written."""

    path: str
    uri: str
    rows: int
    size_bytes: int
    manifest_path: str | None = Field(default=None, description="how to repeat it; else in the file")
    remarks: list[str] | None = None


async def results_export(
    ctx: Call,
    run_ids: Names = _NONE,
    model: str = "",
    suite: str = "",
    format: Annotated[  # noqa: A002 - the argument's name
        Literal["json", "csv", "parquet", "html"], Field(description="html: a report to read")
    ] = "json",
    include_completions: Annotated[bool, Field(description="untrusted text")] = False,
) -> Annotated[CallToolResult, ExportedFile]:
    """Write results, of everything or of what is named, to a new file in the data directory."""

    async def tell(done: int, total: int) -> None:
        await ctx.report_progress(done, total)

    wanted = Selected(tuple(run_ids), model or None, suite or None)
    exports = (await app_of(ctx)).exports
    made = await exports.export(wanted, format, include_completions=include_completions, on_progress=tell)
    facts = ExportedFile(
        path=str(made.path),
        uri=made.path.as_uri(),
        rows=made.rows,
        size_bytes=made.size_bytes,
        manifest_path=str(made.manifest) if made.manifest else None,
        remarks=[shown(remark, 300) for remark in made.remarks[:10]] or None,
    )
    link = ResourceLink(
        name=made.path.name, uri=made.path.as_uri(), mime_type=_TYPES[made.format], size=made.size_bytes
    )
    answer = reply(facts)
    return answer.model_copy(update={"content": [*answer.content, link]})


TOOL = ToolSpec(results_export, "Export results", reads(), toolset="manage")
