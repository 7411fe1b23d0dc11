"""The HTTP server's doors: every route, every method, wrong tokens, other hosts and origins, others' sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from starlette.routing import BaseRoute, Mount, Route

from tests.mcp.sites import ANNA, BERT, MCP_HEADERS, Site, bearer, handshake, open_site, two_people

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "get")
HEALTH = "/healthz"
WRONG: tuple[dict[str, str], ...] = (
    {},
    bearer("wrong-0123456789-wrong"),
    {"Authorization": "Bearer"},
    bearer(ANNA[:-1]),
    bearer(f"{ANNA}x"),
    bearer(ANNA.upper()),
    bearer(f"{ANNA},{BERT}"),
    bearer(f"{ANNA[:8]}{BERT[8:]}"),
    {"Authorization": f"Basic {ANNA}"},
    {"Authorization": f"Bearer: {ANNA}"},
    {"X-Authorization": f"Bearer {ANNA}"},
    {"Proxy-Authorization": f"Bearer {ANNA}"},
    {"Cookie": f"token={ANNA}; Authorization=Bearer {ANNA}"},
    {"X-Api-Key": ANNA},
    {
        "X-Original-URL": HEALTH,
        "X-Rewrite-URL": HEALTH,
        "X-HTTP-Method-Override": "GET",
        "X-Forwarded-For": "127.0.0.1",
    },
)
SAME_PATH = (
    "//metrics",
    "/./metrics",
    "/healthz/../metrics",
    "/healthz/..%2fmetrics",
    "/%6detrics",
    "/metrics/",
    "/metrics;a",
    "/metrics?a=/healthz",
    "/METRICS",
    "/healthz/",
    "/healthz//mcp",
    "/healthz%00/mcp",
    "/healthz?/mcp",
)


def paths(routes: list[BaseRoute]) -> Iterator[str]:
    """Where the application answers."""
    for route in routes:
        assert isinstance(route, Route | Mount), route
        yield route.path if isinstance(route, Route) else f"{route.path}/"


async def raw(site: Site, method: str, path: str, headers: dict[str, str]) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=site.url, trust_env=False, timeout=30) as web:
        request = web.build_request(method, "/", headers=headers)
        request.extensions["target"] = path.encode()
        return await web.send(request)


async def test_no_route_but_health_answers_without_the_right_token_by_whatever_method(tmp_path: Path) -> None:
    async with open_site(tmp_path, access=two_people()) as site:
        found = list(paths(site.http.app.routes))
        assert {"/", "/mcp", "/sse", "/messages/", HEALTH, "/metrics"} <= set(found)
        for path in [*found, "/no/such", "/docs", "/openapi.json", "/.well-known/oauth-protected-resource"]:
            if path == HEALTH:
                continue
            for wrong in WRONG:
                answer = await raw(site, "GET", path, wrong)
                assert answer.status_code == 401, (path, wrong)
                assert ANNA not in answer.text + str(answer.headers)
            for method in METHODS:
                answer = await raw(site, method, path, {})
                assert answer.status_code in (400, 401, 405), (method, path, answer.status_code)
                assert len(answer.content) < 200


async def test_no_spelling_of_a_path_goes_round_the_token(tmp_path: Path) -> None:
    async with open_site(tmp_path, access=two_people()) as site:
        for path in SAME_PATH:
            answer = await raw(site, "GET", path, {})
            assert "llmbench_" not in answer.text, path
            assert answer.status_code in (400, 401, 404) or answer.json() == {"status": "ok"}, path
        for method in METHODS:
            answer = await raw(site, method, HEALTH, {})
            assert len(answer.content) < 200


async def test_health_tells_strangers_nothing_more_than_that(tmp_path: Path) -> None:
    async with open_site(tmp_path, access=two_people()) as site, site.web() as web:
        answer = await web.get(HEALTH, headers={"Origin": "https://evil.example"})
        assert answer.json() == {"status": "ok"}
        assert "access-control-allow-origin" not in answer.headers
        assert not {"server", "x-powered-by"} & set(answer.headers)


async def test_a_page_of_another_site_or_name_reaches_no_route_even_with_the_token(tmp_path: Path) -> None:
    async with open_site(tmp_path, access=two_people()) as site:
        port = site.url.rsplit(":", 1)[1]
        for path in (path for path in paths(site.http.app.routes) if path != HEALTH):
            for host in (
                "evil.example",
                f"evil.example:{port}",
                f"127.0.0.1.nip.io:{port}",
                "[::1]x",
                "0x7f000001",
            ):
                answer = await raw(site, "GET", path, {**bearer(ANNA), "Host": host})
                assert answer.status_code in (400, 421), (path, host)
            for origin in ("https://evil.example", "null", "http://localhost.evil.example", "file://", ""):
                answer = await raw(site, "GET", path, {**bearer(ANNA), "Origin": origin})
                assert answer.status_code == 403, (path, origin)
                assert "access-control-allow-origin" not in answer.headers
            asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
            assert "access-control-allow-origin" not in (await raw(site, "OPTIONS", path, asked)).headers


async def test_a_form_of_another_site_can_call_no_tool(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run_list", "arguments": {}}}
    async with open_site(tmp_path) as site, site.web() as web:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            headers = {"accept": MCP_HEADERS["accept"], "content-type": kind}
            answer = await web.post("/mcp", json=call, headers=headers)
            assert answer.status_code in (400, 406, 415), kind


async def test_a_session_of_the_clients_own_choosing_is_not_taken(tmp_path: Path) -> None:
    chosen = ("fixed-by-me", "0" * 32, "../x", "x" * 5000, "a\tb")
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    async with open_site(tmp_path, access=two_people()) as site, site.web(**MCP_HEADERS, **bearer(ANNA)) as web:
        for session in chosen:
            mine = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
            for body in (ping, handshake()):
                answer = await web.post("/mcp", json=body, headers=mine)
                assert answer.status_code in (400, 404), session
                assert answer.headers.get("mcp-session-id", "") != session
            for method in ("GET", "DELETE"):
                assert (await web.request(method, "/mcp", headers=mine)).status_code in (400, 404, 405), session
            refused = await web.post("/messages/", params={"session_id": session[:40]}, json=ping)
            assert refused.status_code in (400, 404)
        first, second = [(await web.post("/mcp", json=handshake())).headers["mcp-session-id"] for _ in range(2)]
        assert len(first) >= 32
        assert first != second


async def test_another_persons_session_is_as_good_as_none(tmp_path: Path) -> None:
    async with open_site(tmp_path, access=two_people()) as site, site.web(**MCP_HEADERS) as web:
        opened = await web.post("/mcp", json=handshake(), headers=bearer(ANNA))
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        call: dict[str, Any] = {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}
        none = {"mcp-session-id": "0" * 32, "mcp-protocol-version": "2025-11-25"}
        for method in ("POST", "GET", "DELETE"):
            theirs = await web.request(method, "/mcp", json=call, headers=session | bearer(BERT))
            nobody = await web.request(method, "/mcp", json=call, headers=none | bearer(BERT))
            assert (theirs.status_code, len(theirs.content)) == (nobody.status_code, len(nobody.content)), method
        assert (await web.post("/mcp", json=call, headers=session | bearer(ANNA))).status_code == 200
