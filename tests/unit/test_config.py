from __future__ import annotations

from dataclasses import asdict
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
        ("LLMBENCH_LEASE_S", "-1", "from 1 to 3600"),
        ("LLMBENCH_LEASE_S", "nan", "from 1 to 3600"),
        ("LLMBENCH_LEASE_S", "0.000001", "from 1 to 3600"),
        ("LLMBENCH_IDLE_EXIT_S", "0.01", "from 0.1 to 1000000"),
        ("LLMBENCH_MAX_WAIT_S", "1e9", "from 0.1 to 3600"),
        ("LLMBENCH_TOTAL_TIMEOUT_S", "inf", "from 1 to 86400"),
        ("LLMBENCH_STALL_TIMEOUT_S", "0", "from 1 to 86400"),
        ("LLMBENCH_MAX_TOKENS", "1" + 23 * "0", "from 1 to 1000000"),
        ("LLMBENCH_OUTAGE_LIMIT_S", "1e8", "from 1 to 10000000"),
        ("LLMBENCH_BREAKER_ERRORS", "0", "from 1 to 1000"),
        ("LLMBENCH_MAX_TOKENS", 5000 * "9", "whole number"),
        ("LLMBENCH_MAX_TOKENS", "1.5", "whole number"),
        ("LLMBENCH_READ_ONLY", "maybe", "1 or 0"),
        ("LLMBENCH_DEVICE_BUDGETS", "xx", "'xx'.*DEVICE=GIB"),
        ("LLMBENCH_DEVICE_BUDGETS", "cpu=48,nvidia:0=nan", "'nvidia:0=nan'.*DEVICE=GIB"),
        ("LLMBENCH_DEVICE_BUDGETS", "=3", "'=3'.*DEVICE=GIB"),
        ("LLMBENCH_DEVICE_BUDGETS", "cpu=-1", "'cpu=-1'.*DEVICE=GIB"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_named(name: str, text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"{name} is .*{said}") as refused:
        load_settings({name: text})
    assert len(str(refused.value)) < 200


def test_every_number_among_the_settings_has_its_range() -> None:
    for name, value in asdict(load_settings({})).items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            with pytest.raises(InputError, match=name.upper()):
                load_settings({f"LLMBENCH_{name.upper()}": "1" + 23 * "0"})


def test_a_relative_data_directory_becomes_absolute() -> None:
    assert load_settings({"LLMBENCH_DATA_DIR": "here"}).data_dir == Path.cwd() / "here"
