"""Names that are paths: of suites, tasks, runs, resources, archives and links."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from llmbench_mcp.cli import exit_codes
from tests.cli.conftest import Cli
from tests.mcp.bench import open_bench

SECRET = "zz-secret-of-another-file"
OUTSIDE = (
    "../../secret",
    "..%2f..%2fsecret",
    "%2e%2e/%2e%2e/secret",
    "..\\..\\secret",
    "/etc/passwd",
    "//etc/passwd",
    "%2fetc%2fpasswd",
    "file:///etc/passwd",
    "sums/../../secret",
    "sums%00/etc/passwd",
    "sums\x00",
    "~/.ssh/id_rsa",
    ".",
    "..",
    "...",
    "%252e%252e%252fsecret",
    "sums/../sums",
    "C:\\secret",
    "\u2024\u2024/secret",
    "x" * 5000,
)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    for name in ("secret.md", "secret.jsonl", "secret.yaml"):
        (tmp_path / name).write_text(SECRET)
    return file


async def test_no_resource_leads_out(tmp_path: Path, secret: Path) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        for name in OUTSIDE:
            for uri in (
                f"llmbench://suite/{name}",
                f"llmbench://run/{name}",
                f"llmbench://run/run_1/attempt/{name}",
                f"llmbench://run/{name}/attempt/1",
                f"llmbench://leaderboard/{name}",
                f"llmbench://report/{name}.html",
                f"llmbench://{name}",
            ):
                with pytest.raises((MCPError, ValueError)) as refusal:
                    await client.raw.read_resource(uri)
                assert SECRET not in str(refusal.value)
                assert "Internal error" not in str(refusal.value), uri
        for uri in ("file:///etc/passwd", f"file://{secret}", "ui://../../secret", "http://127.0.0.1/"):
            with pytest.raises(MCPError):
                await client.raw.read_resource(uri)


async def test_no_tools_argument_leads_out(tmp_path: Path, secret: Path) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        for name in OUTSIDE:
            for tool, arguments in (
                ("suite_list", {"suite": name}),
                ("run_start", {"models": ["alpha"], "suites": [name]}),
                ("run_start", {"models": ["alpha"], "suites": [f"{name}@7"]}),
                ("run_start", {"models": ["alpha"], "custom_tasks": [{"id": name, "prompt": "x", "expected": 1}]}),
                ("run_status", {"run_id": name}),
                ("run_results", {"run_id": name}),
                ("leaderboard_query", {"suite": name}),
                ("endpoint_add", {"url": bench.fake.url, "backend": name}),
                ("endpoint_add", {"url": bench.fake.url, "device": name}),
                ("endpoint_add", {"url": bench.fake.url, "credential_ref": f"stored:{name}"}),
                ("credential_request", {"endpoint": bench.fake.url, "name": name}),
            ):
                told = await client.refused(tool, **arguments)
                assert "Internal error" not in told, (tool, arguments)
                assert SECRET not in told


def test_a_task_or_suite_is_written_into_its_own_folder_only(cli: Cli, tmp_path: Path, secret: Path) -> None:
    tasks, table = tmp_path / "tasks", tmp_path / "table.csv"
    tasks.mkdir()
    table.write_text("prompt,expected\nOne?,1\n")
    before = listing(tmp_path)
    for name in ("../x", "../../x/y", "/abs/x", "a/../../x", "a/..", "a/b/c/d", "a\\b/c", "a/b\x00", "a/ b", "A/b"):
        assert cli("task", "new", name, "--dir", str(tasks)).code == exit_codes.FAILED, name
    for name in ("../x", "/abs", "a/b", "..", ".hidden", "a b", "x\n", "A"):
        columns = ("--map", "prompt=prompt,expected=expected")
        assert cli("suite", "import", "table", str(table), "--as", name, *columns).code != exit_codes.OK, name
        assert cli("suite", "remove", name).code != exit_codes.OK, name
    assert {path for path in listing(tmp_path) - before if "/data/" not in path} == set()
    assert secret.read_text() == SECRET


def listing(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["../../data/suites/evil.jsonl", "/etc/evil.jsonl", "a\\..\\evil.jsonl", "link.jsonl"])
def test_an_archive_puts_nothing_anywhere(cli: Cli, tmp_path: Path, secret: Path, name: str) -> None:
    archive = tmp_path / "a.zip"
    entry = zipfile.ZipInfo(name)
    if name == "link.jsonl":
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(entry, str(secret))
    before = listing(tmp_path)
    said = cli("suite", "import", "gsm8k", str(archive))
    assert said.code == exit_codes.FAILED
    assert "leads out of it" in said.err
    assert SECRET not in said.out + said.err
    assert listing(tmp_path) == before


def test_links_inside_a_source_are_not_followed_and_a_linked_suite_quotes_nothing(
    cli: Cli, tmp_path: Path, data_dir: Path, secret: Path
) -> None:
    source = tmp_path / "set"
    source.mkdir()
    os.symlink(secret.with_suffix(".jsonl"), source / "test.jsonl")
    assert SECRET not in str(cli("suite", "import", "gsm8k", str(source)))
    (data_dir / "suites").mkdir(parents=True, exist_ok=True)
    os.symlink(secret, data_dir / "suites" / "evil.jsonl")
    for command in (("suite", "list"), ("suites",), ("doctor",)):
        assert SECRET not in str(cli(*command))
    assert cli("suite", "remove", "evil").code == exit_codes.OK
    assert secret.read_text() == SECRET


def test_a_vault_or_key_that_is_a_link_or_open_to_others_is_not_used(
    cli: Cli, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    monkeypatch.setenv("LLMBENCH_CREDENTIAL_STORE", "vault")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o777)
    elsewhere.chmod(0o777)
    data_dir.mkdir()
    os.symlink(elsewhere, data_dir / "credentials")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"zz-VAULT-81b2c3d4e5")))
    said = cli("credential", "set", "mine", "--json")
    assert said.code != exit_codes.OK
    assert json.loads(said.out)["error"]
    assert [path.name for path in elsewhere.iterdir()] == []
