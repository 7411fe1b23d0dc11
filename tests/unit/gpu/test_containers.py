"""The memory a container may use, from files as the kernel writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.gpu.cgroup import MemoryLimit, memory_limit

GIB = 2**30


def files(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text + "\n", encoding="ascii")


def limit(folder: Path, own: str) -> MemoryLimit | None:
    (folder / "self").write_text(own, encoding="ascii")
    return memory_limit(64 * GIB, folder / "cgroup", folder / "self")


def test_version_2_tells_limit_and_use_without_cache(tmp_path: Path) -> None:
    files(
        tmp_path / "cgroup",
        memory__max=str(8 * GIB),
        memory__current=str(3 * GIB),
        memory__stat=f"anon 5\ninactive_file {GIB}\nactive_file 7",
    )
    assert limit(tmp_path, "0::/\n") == MemoryLimit(8 * GIB, 2 * GIB)


def test_the_tightest_of_a_groups_ancestors_counts(tmp_path: Path) -> None:
    files(tmp_path / "cgroup" / "a" / "b", memory__max="max", memory__current="1")
    files(tmp_path / "cgroup" / "a", memory__max=str(4 * GIB), memory__current="2")
    files(tmp_path / "cgroup", memory__max=str(16 * GIB), memory__current="3")
    assert limit(tmp_path, "0::/a/b\n") == MemoryLimit(4 * GIB, 2)


def test_version_1_is_read_too(tmp_path: Path) -> None:
    files(
        tmp_path / "cgroup" / "memory" / "docker" / "x",
        memory__limit_in_bytes=str(2 * GIB),
        memory__usage_in_bytes=str(GIB),
        memory__stat=f"total_inactive_file {GIB // 2}",
    )
    assert limit(tmp_path, "9:name=systemd:/\n4:memory:/docker/x\n0::/\n") == MemoryLimit(2 * GIB, GIB // 2)


@pytest.mark.parametrize("most", ["max", "9223372036854771712", str(64 * GIB), "", "-1", "many"])
def test_no_limit_below_the_machines_memory_is_none(tmp_path: Path, most: str) -> None:
    files(tmp_path / "cgroup", memory__max=most, memory__current="5")
    assert limit(tmp_path, "0::/\n") is None


def test_what_is_used_may_be_unknown_and_is_never_0(tmp_path: Path) -> None:
    files(tmp_path / "cgroup", memory__max=str(GIB))
    assert limit(tmp_path, "0::/../../outside\n") == MemoryLimit(GIB, None)


def test_other_systems_have_no_such_files(tmp_path: Path) -> None:
    assert memory_limit(GIB, tmp_path / "none", tmp_path / "none") is None
