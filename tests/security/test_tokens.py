"""Bearer tokens and keys put where they do not belong, by clumsy clients and by faults of our own: kept nowhere."""

from __future__ import annotations

import io
import logging
import signal
from contextlib import suppress
from pathlib import Path

import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from llmbench_mcp.credentials.known import known
from llmbench_mcp.credentials.redact import RedactingFormatter
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply, error_reply
from tests.mcp.bench import BenchClient, right, settings_in
from tests.mcp.sites import ANNA, MCP_HEADERS, bearer, handshake, open_site, two_people
from tests.mcp.test_http_process import served
from tests.support.processes import no_survivors, processes_of

KEY = "zz-SERVER-7f3a9c51d2e8"
pytestmark = pytest.mark.timeout(170)


async def misuse(web: httpx2.AsyncClient) -> list[str]:
    """Put the token everywhere but where it belongs, and something wrong everywhere else; what was answered."""
    answers = [
        await web.get(f"/metrics?token={ANNA}&access_token={ANNA}"),
        await web.get(f"/{ANNA}"),
        await web.get("/metrics", headers={"Cookie": f"session={ANNA}"}),
        await web.get("/metrics", headers={"Authorization": f"Basic {ANNA}"}),
        await web.get("/metrics", headers={"Authorization": f"Bearer {ANNA}\t{ANNA}"}),
        await web.post("/mcp", content=f"not json {ANNA}", headers=MCP_HEADERS | bearer(ANNA)),
        await web.post("/mcp", json=handshake(), headers=MCP_HEADERS | bearer(ANNA) | {"mcp-session-id": ANNA}),
        await web.post(f"/messages/?session_id={ANNA}", json=handshake(), headers=bearer(ANNA)),
        await web.get("/sse", headers=bearer(ANNA) | {"Host": f"{ANNA}.example"}),
        await web.get("/", headers=bearer(ANNA) | {"Origin": f"https://{ANNA}.example"}),
        await web.request(ANNA[:4], "/", headers=bearer(ANNA)),
    ]
    return [answer.text + str(answer.headers) for answer in answers]


async def test_a_token_is_in_no_answer_metric_log_file_or_process(tmp_path: Path) -> None:
    data_dir = settings_in(tmp_path).data_dir
    token = tmp_path / "token"
    token.write_text(f"anna {ANNA}\n")
    token.chmod(0o600)

    def answers(request: Received) -> Reply | str | None:
        return error_reply(400, f"{request.headers}") if "2 + 2" in request.prompt else right(request)

    options = ("--token-file", str(token))
    more = {"LLMBENCH_KEY_BOX": KEY, "LLMBENCH_DEBUG": "1"}
    async with (
        FakeServer(["alpha"], answers, api_key=KEY) as fake,
        no_survivors(data_dir),
        served(tmp_path, *options, **more) as server,
        httpx2.AsyncClient(base_url=server.url, headers=bearer(ANNA), timeout=60) as web,
        httpx2.AsyncClient(base_url=server.url, timeout=60) as clumsy,
    ):
        async with Client(streamable_http_client(f"{server.url}/mcp", http_client=web)) as raw:
            client = BenchClient(raw)
            await client.call("endpoint_add", url=fake.url, name="fake", credential_ref="env:LLMBENCH_KEY_BOX")
            await client.call("models_discover")
            await client.call("model_assign", model="alpha")
            run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
            await client.finish(run_id)
            await client.refused("model_get", model=ANNA)
            for process in processes_of(data_dir):
                assert ANNA not in " ".join(process.cmdline())
                assert KEY not in " ".join(process.cmdline())
                assert ANNA not in " ".join(process.environ().values())
            for each in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):  # it has ended meanwhile
                    assert ANNA not in " ".join(each.cmdline())
        told = await misuse(clumsy)
        told.append((await web.get("/metrics")).text)
        assert "llmbench_attempts_total" in told[-1]
        assert [text for text in told if ANNA in text or KEY in text] == []
        # The token is no key: it is for this server only, and goes to no other.
        assert not [request for request in fake.requests if ANNA in str(request.headers)]
        assert await server.end(signal.SIGTERM) == 0
        written = [path for path in data_dir.rglob("*") if path.is_file()] + [server.log]
        found = [path for path in written if ANNA.encode() in path.read_bytes() or KEY.encode() in path.read_bytes()]
        assert found == []


async def test_a_fault_of_our_own_that_names_a_token_is_logged_and_told_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise RuntimeError(f"cannot do it for Bearer {ANNA} and {KEY}")

    access = two_people()
    monkeypatch.setenv("LLMBENCH_KEY_BOX", KEY)
    redactor = known()
    for secret in access.tokens.secrets:  # as serving does
        redactor.add(secret)
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(RedactingFormatter(redactor, "%(levelname)s %(name)s: %(message)s"))
    logging.root.addHandler(handler)
    try:
        async with open_site(tmp_path, access=access) as site, site.client(token=ANNA) as client:
            for place in ("endpoints.Endpoints.views", "metrics.Metrics.look", "runs.Runs.listed"):
                monkeypatch.setattr(f"llmbench_mcp.services.{place}", broken)
            told = [await client.refused("endpoint_list"), await client.refused("run_list")]
            async with site.web(**bearer(ANNA)) as web:
                told.append((await web.get("/metrics")).text)
    finally:
        logging.root.removeHandler(handler)
    log = written.getvalue()
    assert "Traceback" in log
    assert "cannot do it for Bearer [redacted] and [redacted]" in log
    assert [text for text in (*told, log) if ANNA in text or KEY in text] == []
    assert "Internal error in endpoint_list" in told[0]
