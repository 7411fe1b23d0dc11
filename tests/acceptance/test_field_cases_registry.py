"""Addresses in every form at the command line, and lists of models with holes, as scripts get them."""

from __future__ import annotations

from collections import Counter

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply
from tests.cli.conftest import Cli
from tests.cli.support import running
from tests.support.catalogues import with_holes


class OnBoth(FakeServer):
    """Listens at 127.0.0.1 and [::1], serves below the root and below a path, and counts odd paths."""

    def __init__(self) -> None:
        super().__init__(["m"])
        self.odd: Counter[str] = Counter()
        below = {name.replace("/v1", "/llm/api/v1"): route for name, route in self.routes.items()}
        self.routes |= below

    def refused(self, request: Received) -> Reply | None:
        if "//" in request.path or "/v1/v1" in request.path:
            self.odd[request.path] += 1
        return None

    async def __aenter__(self) -> OnBoth:
        await super().__aenter__()
        await self.listen_v6()
        return self


def test_every_form_of_an_address_is_taken_once_and_answers(cli: Cli) -> None:
    with running(OnBoth()) as fake:
        port = fake.port
        tails = ("", "/", "/v1", "/v1/", "/v1/chat/completions")
        same = [f"http://127.0.0.1:{port}{tail}" for tail in tails] + [f"127.0.0.1:{port}"]
        added = [cli("endpoint", "add", form, "--json").json for form in same]
        assert f"taken as http://127.0.0.1:{port}" in cli("endpoint", "add", same[-1]).err
        assert [one["created"] for one in added] == [True, *[False] * 5]
        assert {one["endpoint"]["url"] for one in added} == {f"http://127.0.0.1:{port}"}
        others = [f"http://[::1]:{port}/v1", f"http://127.0.0.1:{port}/llm/api/v1/"]
        urls = [cli("endpoint", "add", form, "--json").json["endpoint"]["url"] for form in others]
        assert urls == [f"http://[::1]:{port}", f"http://127.0.0.1:{port}/llm/api"]
        assert f"http://[::1]:{port}" in cli("endpoint", "list").out
        assert [report["seen"] for report in cli("discover", "--json").json["endpoints"]] == [1, 1, 1]
        for form in (*same, *others):
            said = cli("endpoint", "probe", form, "--model", "m", "--prompt", "Hi", "--json")
            assert (said.code, said.json["text"]) == (exit_codes.OK, "You said: Hi"), form
        assert fake.odd == {}  # type: ignore[attr-defined]  # an OnBoth


def test_what_is_no_address_of_a_server_is_refused_with_the_reason(cli: Cli) -> None:
    with running(FakeServer(["m"])) as fake:
        secret = cli("endpoint", "add", f"http://user:pw-secret@127.0.0.1:{fake.port}/v1")
        probed = cli("endpoint", "probe", f"http://user:pw-secret@127.0.0.1:{fake.port}/v1", "--model", "m", "--json")
        foreign = cli("endpoint", "add", "ftp://127.0.0.1/")
    assert (secret.code, foreign.code, probed.code) == (exit_codes.FAILED,) * 3
    assert "user name or password" in secret.err
    assert "pw-secret" not in secret.err + secret.out + probed.err + probed.out
    assert "'ftp' is not served" in foreign.err
    assert fake.requests == []


def test_figures_that_a_server_does_not_give_are_null(cli: Cli) -> None:
    with running(FakeOllama(with_holes())) as fake:
        cli("endpoint", "add", fake.url, "--name", "box")
        first, second = (cli("discover", "--json").json["endpoints"][0] for _ in range(2))
        models = {model["name"]: model for model in cli("models", "--json").json["models"]}
        refused = cli("assign", "d:cloud")
    assert (first["seen"], len(first["added"])) == (5, 5)
    assert first["warnings"] == ["e: its modified_at 'not a date' is no date."]
    changes = [second[name] for name in ("added", "changed", "missing", "removed", "back")]
    assert (second["seen"], changes) == (5, [[]] * 5)
    assert sorted(models) == ["a:latest", "b:7b", "c:1b", "d:cloud", "e"]
    sizes = {name: model["size_bytes"] for name, model in models.items()}
    assert sizes == {"a:latest": 2 * 10**9, "b:7b": 4 * 10**9, "c:1b": None, "d:cloud": None, "e": 10**9}
    counts = {name: (model["parameter_count"], model["guessed"]) for name, model in models.items()}
    assert counts["a:latest"] == (3_200_000_000, [])
    assert counts["b:7b"] in [(None, []), (7 * 10**9, ["parameter_count"])]
    assert counts["c:1b"] in [(None, []), (10**9, ["parameter_count"])]
    assert counts["d:cloud"] == counts["e"] == (None, [])
    assert {model["context_length"] for model in models.values()} == {None}
    assert [name for name, model in models.items() if model["homes"][0]["remote"]] == ["d:cloud"]
    assert refused.code == exit_codes.FAILED
    assert "runs on another machine" in refused.err
