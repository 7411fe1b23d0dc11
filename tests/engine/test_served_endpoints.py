"""The endpoint of a server that this program starts itself: found again whatever it is called and wherever it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.domain.errors import ConflictError
from llmbench_mcp.services.endpoints import NewEndpoint
from tests.support.rooms import opened, server

OLD, NEW, OTHER = "http://127.0.0.1:8082", "http://127.0.0.1:8083", "http://127.0.0.1:8084"


@pytest.mark.parametrize("url", [OLD, NEW])
async def test_one_that_a_person_renamed_keeps_its_name_and_history_where_it_is_started_again(
    tmp_path: Path, url: str
) -> None:
    async with opened(tmp_path, {OLD: server("m"), NEW: server("m")}) as app:
        first = await app.endpoints.serve("demo", OLD, "scripted", None)
        await app.endpoints.add(NewEndpoint(OLD, "box"))
        again = await app.endpoints.serve("demo", url, "scripted", None)
        assert (again.id, again.name, again.url) == (first.id, "box", url)
        assert len(await app.endpoints.views()) == 1


async def test_an_endpoint_of_a_persons_own_with_its_name_stays_where_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path, {OTHER: server("m")}) as app:
        await app.endpoints.add(NewEndpoint(OTHER, "demo"))
        served = await app.endpoints.serve("demo", OLD, "scripted", None)
        assert (served.name, served.url) == ("demo-2", OLD)
        assert (await app.endpoints.get("demo")).url == OTHER


async def test_a_clash_of_addresses_names_who_has_the_address(tmp_path: Path) -> None:
    async with opened(tmp_path, {OTHER: server("m")}) as app:
        await app.endpoints.add(NewEndpoint(OTHER, "mine"))
        for _ in range(2):
            with pytest.raises(ConflictError, match=f"'mine'.*{OTHER}.*another port or remove that one"):
                await app.endpoints.serve("demo", OTHER, "scripted", None)
            await app.endpoints.serve("demo", OLD, "scripted", None)
