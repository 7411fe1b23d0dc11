"""What is offered beside tools, recorded: a change of resources or prompts is seen."""

from __future__ import annotations

import json
import os
from typing import Any

from mcp import Client
from pydantic import BaseModel

from llmbench_mcp.server.build import build_server
from llmbench_mcp.server.prompts import EVERY_PROMPT
from llmbench_mcp.server.resources import EVERY_RESOURCE
from tests.mcp.bench import Era
from tests.mcp.test_surface import SNAPSHOTS, holder_of


def wire(listed: BaseModel) -> dict[str, Any]:
    return listed.model_dump(mode="json", by_alias=True, exclude_none=True)


async def offered(era: Era) -> dict[str, dict[str, Any]]:
    """By place of its record, everything but the tools."""
    async with Client(build_server(holder_of()), mode=era) as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
    named = {f"resources/{one.name}.json": wire(one) for one in (*resources, *templates)}
    return named | {f"prompts/{one.name}.json": wire(one) for one in prompts}


async def test_resources_and_prompts_are_offered_as_recorded(era: Era) -> None:
    found = await offered(era)
    if os.environ.get("LLMBENCH_UPDATE_SNAPSHOTS") == "1":
        for place, one in found.items():
            (SNAPSHOTS / place).parent.mkdir(exist_ok=True)
            (SNAPSHOTS / place).write_text(json.dumps(one, indent=2) + "\n", encoding="utf-8")
    files = [file for folder in ("resources", "prompts") for file in (SNAPSHOTS / folder).glob("*.json")]
    recorded = {f"{file.parent.name}/{file.name}": json.loads(file.read_text(encoding="utf-8")) for file in files}
    assert found == recorded, "if meant, record it anew with LLMBENCH_UPDATE_SNAPSHOTS=1"


async def test_everything_is_offered_in_both_eras(era: Era) -> None:
    names = {f"resources/{spec.name}.json" for spec in EVERY_RESOURCE}
    assert set(await offered(era)) == names | {f"prompts/{spec.name}.json" for spec in EVERY_PROMPT}


async def test_the_lists_beside_the_tools_cost_little() -> None:
    text = json.dumps(list((await offered("auto")).values()), separators=(",", ":"))
    assert len(text) / 3.5 < 1_500
