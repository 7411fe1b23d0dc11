"""Who may ask the HTTP server, and what strangers learn."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.credentials.environment import Secret
from llmbench_mcp.domain.errors import InputError, SetupError
from llmbench_mcp.server.http_auth import Access, checked_access
from llmbench_mcp.server.http_tokens import Tokens, load_tokens
from tests.mcp.bench import Era
from tests.mcp.sites import ANNA, BERT, MCP_HEADERS, bearer, handshake, open_site, two_people

CLOSED = ("/", "/metrics", "/mcp", "/sse", "/messages/", "/no/such/page")
LONE = Tokens([("me", Secret(ANNA))])


async def test_without_a_token_everything_but_health_is_closed(tmp_path: Path) -> None:
    async with open_site(tmp_path, access=two_people()) as site, site.web() as web:
        for path in CLOSED:
            for wrong in (
                {},
                bearer("wrong-0123456789-wrong"),
                {"Authorization": ANNA},
                bearer(ANNA[:-1]),
                {"Authorization": "Bearer"},
            ):
                answer = await web.get(path, headers=wrong)
                assert answer.status_code == 401, (path, wrong)
                assert answer.headers["www-authenticate"].startswith("Bearer")
        assert (await web.get(f"/metrics?token={ANNA}")).status_code == 401
        twice = await web.get("/", headers=[("Authorization", f"Bearer {ANNA}"), ("Authorization", "Bearer x")])
        assert twice.status_code == 401
        assert (await web.get("/", headers=bearer(ANNA))).status_code == 200
        assert (await web.get("/", headers={"Authorization": f"bearer {BERT}"})).status_code == 200


async def test_health_says_nothing_private_and_needs_no_token(tmp_path: Path) -> None:
    async with open_site(tmp_path, access=two_people()) as site, site.web() as web:
        answer = await web.get("/healthz", headers={"Host": "10.1.2.3:9"})
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
        assert "server" not in answer.headers


async def test_a_token_opens_every_door_in_both_eras(tmp_path: Path, era: Era) -> None:
    async with open_site(tmp_path, access=two_people()) as site:
        async with site.client("http", era, ANNA) as client:
            assert (await client.call("suite_list"))["suites"]
        async with site.client("sse", era, BERT) as client:
            assert (await client.call("suite_list"))["suites"]


async def test_a_session_is_of_no_use_to_another_person(tmp_path: Path) -> None:
    async with open_site(tmp_path, access=two_people()) as site, site.web(**MCP_HEADERS) as web:
        opened = await web.post("/mcp", json=handshake(), headers=bearer(ANNA))
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for method in ("POST", "GET", "DELETE"):
            stolen = await web.request(method, "/mcp", json=ping, headers=session | bearer(BERT))
            assert stolen.status_code == 404, method
        assert (await web.post("/mcp", json=ping, headers=session)).status_code == 401
        assert (await web.post("/mcp", json=ping, headers=session | bearer(ANNA))).status_code == 200


async def test_messages_to_anothers_stream_are_turned_away(tmp_path: Path) -> None:
    async with (
        open_site(tmp_path, access=two_people()) as site,
        site.web() as web,
        web.stream("GET", "/sse", headers=bearer(ANNA)) as stream,
    ):
        lines = stream.aiter_lines()
        place = next(line.removeprefix("data: ") for line in [await anext(lines), await anext(lines)] if "?" in line)
        assert (await web.post(place, json=handshake(), headers=bearer(BERT))).status_code == 404
        assert (await web.post(place, json=handshake(), headers=bearer(ANNA))).status_code == 202


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "[::1].evil.example", "a:b:c", ""]
)
async def test_a_page_that_points_its_own_name_here_is_turned_away(tmp_path: Path, host: str) -> None:
    async with open_site(tmp_path) as site, site.web() as web:
        for path in CLOSED:
            answer = await web.get(path, headers={"Host": host})
            assert answer.status_code in (400, 421), path


async def test_other_sites_pages_may_not_ask(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site, site.web() as web:
        for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example", "https://127.0.0.1"):
            assert (await web.get("/", headers={"Origin": origin})).status_code == 403
        for origin in ("http://localhost:3000", "http://127.0.0.1", "http://[::1]:8421"):
            assert (await web.get("/", headers={"Origin": origin})).status_code == 200


async def test_a_site_that_was_allowed_may_ask_and_read_the_answers(tmp_path: Path) -> None:
    site_name = "https://bench.example.org"
    access = checked_access("127.0.0.1", ["bench.example.org"], [site_name], LONE)
    async with open_site(tmp_path, access=access) as site, site.web() as web:
        ask = {"Origin": site_name, "Host": "Bench.Example.Org:443"}
        wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        before = await web.options("/mcp", headers=ask | wanted)
        assert (before.status_code, before.headers["access-control-allow-origin"]) == (200, site_name)
        answer = await web.post("/mcp", json=handshake(), headers=ask | MCP_HEADERS | bearer(ANNA))
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, site_name)
        assert (await web.get("/", headers=bearer(ANNA) | {"Origin": "http://localhost:3000"})).status_code == 403


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.168.1.7", "gpubox"])
def test_an_address_that_others_reach_needs_a_token_and_named_hosts(bind: str) -> None:
    with pytest.raises(InputError, match="--token-file"):
        checked_access(bind, ["bench.example.org"], [], Tokens())
    with pytest.raises(InputError, match="--allow-host"):
        checked_access(bind, [], [], LONE)
    with pytest.raises(InputError, match="--allow-host"):
        checked_access(bind, ["localhost"], [], LONE)
    access = checked_access(bind, ["bench.example.org:8421", "10.0.0.5", "[fd00::1]"], [], LONE)
    assert access.hosts == ("bench.example.org", "10.0.0.5", "[fd00::1]")
    assert access.for_sdk().enable_dns_rebinding_protection


@pytest.mark.parametrize("bind", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_this_machine_needs_no_token_until_a_proxy_lets_others_in(bind: str) -> None:
    assert checked_access(bind, [], [], Tokens()) == Access(tokens=Tokens()) or not Tokens()
    assert len(checked_access(bind, [], [], Tokens()).tokens) == 0
    with pytest.raises(InputError, match="token"):
        checked_access(bind, ["bench.example.org"], [], Tokens())


@pytest.mark.parametrize("word", ["http://bench", "a/b", "*", "", "a b", "bench:*"])
def test_what_is_no_host_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="no host"):
        checked_access("127.0.0.1", [word], [], LONE)


@pytest.mark.parametrize("word", ["bench.example.org", "https://*.example.org", "null", "https://a/b", "ftp://a", ""])
def test_what_is_no_origin_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="no origin"):
        checked_access("127.0.0.1", [], [word], LONE)


def test_a_token_leaves_the_environment_it_came_in() -> None:
    environment = {"TEAM_TOKEN": ANNA, "OTHER": BERT}
    tokens = load_tokens(["TEAM_TOKEN", "bert=OTHER"], [], environment)
    assert environment == {}
    assert (tokens.holder(ANNA), tokens.holder(BERT), tokens.holder("x")) == ("TEAM_TOKEN", "bert", None)
    assert ANNA not in repr(vars(tokens))


def test_a_file_holds_one_token_or_one_for_each_person(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# who may ask\nanna {ANNA}\n\nbert  {BERT} # until May\n")
    file.chmod(0o600)
    assert load_tokens([], [file]).holder(BERT) == "bert"
    file.write_text(f"{ANNA}\n")
    assert load_tokens([], [file]).holder(ANNA) == "token"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text(ANNA)
    file.chmod(mode)
    with pytest.raises(SetupError, match="chmod 600"):
        load_tokens([], [file])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("short", "easily guessed"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "easily guessed"),
        ("anna one two", "NAME TOKEN"),
        (f"a/b {ANNA}", "no name"),
        (f"anna {ANNA}\nanna {BERT}", "twice"),
        (f"anna {ANNA}\nbert {ANNA}", "twice"),
        (f"anna {ANNA}é", "characters"),
        ("", "holds no token"),
        ("# nobody\n", "holds no token"),
    ],
)
def test_a_weak_or_odd_token_is_refused_without_being_shown(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises((InputError, SetupError), match=why) as refusal:
        load_tokens([], [file])
    assert ANNA not in str(refusal.value)


def test_what_is_no_file_or_no_variable_is_told_plainly(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        load_tokens([], [tmp_path / "none"])
    with pytest.raises(SetupError, match="no ordinary file"):
        load_tokens([], [tmp_path])
    with pytest.raises(SetupError, match="holds no token"):
        load_tokens(["NOT_SET"], [], {})
    with pytest.raises(InputError, match="Never give the token itself") as refusal:
        load_tokens([BERT], [], {})
    assert BERT not in str(refusal.value)
