from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.config import load_settings
from llmbench_mcp.domain.errors import InputError


def test_settings_come_from_the_environment_and_arguments_win() -> None:
    settings = load_settings(
        {"LLMBENCH_LEASE_S": "3.5", "LLMBENCH_READ_ONLY": "yes", "LLMBENCH_DATA_DIR": "/a"}, data_dir=Path("/b")
    )
    assert (settings.lease_s, settings.read_only, settings.data_dir) == (3.5, True, Path("/b"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("LLMBENCH_LEASE_S", "soon", "number"),
        ("LLMBENCH_LEASE_S", "-1", "above 0"),
        ("LLMBENCH_LEASE_S", "nan", "above 0"),
        ("LLMBENCH_MAX_TOKENS", "1.5", "whole number"),
        ("LLMBENCH_READ_ONLY", "maybe", "1 or 0"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_named(name: str, text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"{name} is .*{said}"):
        load_settings({name: text})


def test_a_relative_data_directory_becomes_absolute() -> None:
    assert load_settings({"LLMBENCH_DATA_DIR": "here"}).data_dir == Path.cwd() / "here"
