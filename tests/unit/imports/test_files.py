"""What may be named as a source, and what is refused of it."""

from __future__ import annotations

import gzip
import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from llmbench_mcp.catalog.importers import bundle
from llmbench_mcp.catalog.importers.bundle import open_bundle
from llmbench_mcp.domain.errors import InputError
from tests.unit.imports.support import APPLES, bfcl, lines, run, stored


def test_a_folder_a_file_an_archive_and_a_packed_file_give_the_same(tmp_path: Path) -> None:
    file = lines(tmp_path / "set" / "test.jsonl", APPLES)
    packed = tmp_path / "packed" / "test.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(file.read_bytes()))
    with zipfile.ZipFile(tmp_path / "set.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(file, "inside/test.jsonl")
    sources = [file, file.parent, packed, packed.parent, tmp_path / "set.zip"]

    found = [stored(run(tmp_path, "gsm8k", source)) for source in sources]

    assert all(one["0000"].task.content_hash() == found[0]["0000"].task.content_hash() for one in found)


def test_a_wheel_tells_its_version(tmp_path: Path) -> None:
    folder = bfcl(tmp_path / "bfcl")
    with zipfile.ZipFile(tmp_path / "bfcl_eval-2026.3.23-py3-none-any.whl", "w") as archive:
        for file in folder.rglob("*.json"):
            archive.write(file, f"bfcl_eval/data/{file.relative_to(folder)}")
        archive.writestr("bfcl_eval/__init__.py", "raise SystemExit('imported')")
    origin = run(tmp_path, "bfcl", tmp_path / "bfcl_eval-2026.3.23-py3-none-any.whl").imported.origin

    assert (origin["from"], origin["package_version"]) == ("bfcl_eval 2026.3.23", "2026.3.23")
    assert len(origin["sources"]) == 3
    assert all(len(source["sha256"]) == 64 and source["rows"] == 1 for source in origin["sources"])


def test_an_installed_package_is_read_and_never_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines(tmp_path / "site" / "some_set" / "data" / "test.jsonl", APPLES)
    (tmp_path / "site" / "some_set" / "__init__.py").write_text("raise SystemExit('imported')")
    facts = tmp_path / "site" / "some_set-1.5.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: some-set\nVersion: 1.5\n")
    listed = ("some_set/__init__.py,,", "some_set/data/test.jsonl,,", "../../bin/test.jsonl,,", "/etc/test.jsonl,,")
    (facts / "RECORD").write_text("\n".join(listed) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    change = run(tmp_path, "gsm8k", "some-set")

    assert len(stored(change)) == 1
    assert change.imported.origin["from"] == "some-set 1.5"
    assert "some_set" not in sys.modules


@pytest.mark.parametrize(
    "name", ["../outside.jsonl", "/etc/outside.jsonl", "a/../../b.jsonl", "..\\b.jsonl", "C:/b.jsonl"]
)
def test_an_archive_whose_paths_lead_out_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "{}")

    with pytest.raises(InputError, match="leads out of it"):
        open_bundle(str(tmp_path / "a.zip"))


def test_an_archive_with_a_link_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("test.jsonl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")

    with pytest.raises(InputError, match="leads out of it"):
        open_bundle(str(tmp_path / "a.zip"))


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret = lines(tmp_path / "elsewhere" / "test.jsonl", APPLES)
    (tmp_path / "set").mkdir()
    os.symlink(secret, tmp_path / "set" / "test.jsonl")
    os.symlink(secret.parent, tmp_path / "set" / "more")

    with pytest.raises(InputError, match=r"holds no test\.jsonl"):
        run(tmp_path, "gsm8k", tmp_path / "set")


@pytest.mark.parametrize("packing", ["zip", "gz"])
def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: str) -> None:
    monkeypatch.setattr(bundle, "MAX_FILE_BYTES", 100_000)
    bomb = b" " * 10_000_000
    file = tmp_path / "test.jsonl.gz"
    file.write_bytes(gzip.compress(bomb))
    if packing == "zip":
        file = tmp_path / "a.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("test.jsonl", bomb)

    with pytest.raises(InputError, match="MiB"):
        run(tmp_path, "gsm8k", file)


def test_all_files_together_are_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_TOTAL_BYTES", 100)
    file = lines(tmp_path / "test.jsonl", APPLES)

    with pytest.raises(InputError, match="more than"):
        run(tmp_path, "gsm8k", file)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_FILES", 2)
    for number in range(3):
        lines(tmp_path / "set" / f"{number}.jsonl", APPLES)

    with pytest.raises(InputError, match="more than 2 files"):
        open_bundle(str(tmp_path / "set"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.zip", b"no archive", "is no archive"),
        ("test.jsonl.gz", b"no gzip", "is no whole gzip file"),
        ("test.jsonl.gz", gzip.compress(b"x" * 1000, mtime=0)[:-10], "is no whole gzip file"),
        ("test.jsonl", b'{"a": 1}\n\xff\n', r"test\.jsonl:2: is not UTF-8"),
        ("test.pkl", b"\x80\x04N.", "is of no kind that is read here"),
        ("test.tar.gz", b"", "is of no kind that is read here"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(InputError, match=message):
        run(tmp_path, "gsm8k", tmp_path / name)


@pytest.mark.parametrize("source", ["no-such-package-at-all", "no/such/path", "", "http://example.org/a.jsonl"])
def test_what_is_not_there_is_said(tmp_path: Path, source: str) -> None:
    with pytest.raises(InputError, match="is no file, no folder and no installed package"):
        run(tmp_path, "gsm8k", source or "no/such/path")


def test_a_folder_with_two_candidates_asks_which(tmp_path: Path) -> None:
    lines(tmp_path / "set" / "a" / "test.jsonl", APPLES)
    lines(tmp_path / "set" / "b" / "test.jsonl", APPLES)

    with pytest.raises(InputError, match=r"a/test\.jsonl, b/test\.jsonl.*Name one of them"):
        run(tmp_path, "gsm8k", tmp_path / "set")
