"""Settings: read once from ``LLMBENCH_*`` variables, frozen, each documented in the README's table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from llmbench_mcp.domain.address import Address

_PREFIX = "LLMBENCH_"
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
CREDENTIAL_STORES = ("auto", "keyring", "vault")
"""Where entered keys are kept; ``auto``: in the keyring where one is usable."""
ISOLATION_LEVELS = ("process", "partial", "full")
"""How well model-written code must be confined to be run at all, weakest first."""
_MOST_GIB = 1_000_000
_RANGES = {
    "max_wait_s": (0.1, 3600),
    "lease_s": (1, 3600),
    "idle_exit_s": (0.1, 1_000_000),
    "total_timeout_s": (1, 86_400),
    "stall_timeout_s": (1, 86_400),
    "load_timeout_s": (1, 86_400),
    "release_wait_s": (0.1, 3600),
    "max_tokens": (1, 1_000_000),
    "reasoning_max_tokens": (1, 1_000_000),
    "loop_tokens": (0, 1_000_000),
    "outage_limit_s": (1, 10_000_000),
    "breaker_errors": (1, 1000),
    "device_sample_s": (0, 86_400),
    "device_sample_days": (0.01, 3650),
    "keep_days": (0, 36_500),
    "discover_timeout_s": (0.1, 3600),
    "discover_every_s": (0, 1_000_000),
    "probe_timeout_s": (0.1, 86_400),
    "http_max_sessions": (1, 10_000),
    "http_max_requests": (1, 10_000),
    "http_session_idle_s": (1, 1_000_000),
    "http_drain_s": (0, 3600),
}
"""Smallest and largest value of every number."""


def default_data_dir() -> Path:
    """Where the database and logs lie when nothing else is said."""
    import platformdirs

    return Path(platformdirs.user_data_dir("llmbench-mcp", appauthor=False))


def default_cache_dir() -> Path:
    """Where fetched model weights lie."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("llmbench-mcp", appauthor=False))


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting with its default. Times in seconds; variable names are ``LLMBENCH_`` + upper case."""

    data_dir: Path
    cache_dir: Path
    tasks_dir: Path | None = None
    read_only: bool = False
    toolsets: str = "core,manage"
    agent_any_address: bool = False
    credential_store: str = "auto"
    min_isolation: str = "full"
    max_wait_s: float = 45.0
    lease_s: float = 10.0
    idle_exit_s: float = 60.0
    total_timeout_s: float = 600.0
    stall_timeout_s: float = 120.0
    load_timeout_s: float = 300.0
    release_wait_s: float = 30.0
    device_budgets: str = ""
    co_residency: bool = False
    partial_offload: bool = False
    max_tokens: int = 2048
    reasoning_max_tokens: int = 16_000
    loop_tokens: int = 200
    outage_limit_s: float = 3600.0
    breaker_errors: int = 3
    device_sample_s: float = 15.0
    device_sample_days: float = 7.0
    keep_days: int = 90
    gpu_exporters: str = ""
    discover_ports: str = "11434,11435,1234,8080,8000"
    discover_timeout_s: float = 20.0
    discover_every_s: float = 300.0
    probe_timeout_s: float = 60.0
    http_max_sessions: int = 500
    http_max_requests: int = 500
    http_session_idle_s: float = 1800.0
    http_drain_s: float = 10.0

    @property
    def usual_ports(self) -> tuple[int, ...]:
        """Ports of 127.0.0.1 where servers are looked for; empty for ``none``."""
        words = [word.strip() for word in self.discover_ports.split(",")]
        return () if words == ["none"] else tuple(dict.fromkeys(int(word) for word in words if word))

    @property
    def budgets(self) -> dict[str, int]:
        """Bytes that may be used by device. Raises InputError for a part that is not DEVICE=NUMBER."""
        parts = (part.strip() for part in self.device_budgets.split(","))
        return dict(_budget(part) for part in parts if part)

    @property
    def exporters(self) -> tuple[Address, ...]:
        """Addresses of other machines' GPU exporters. Raises InputError for what is none."""
        if not self.gpu_exporters.strip():
            return ()
        from llmbench_mcp.domain.address import parse_address

        return tuple(parse_address(word) for word in self.gpu_exporters.split(",") if word.strip())

    @property
    def database_path(self) -> Path:
        """The SQLite file."""
        return self.data_dir / "llmbench.db"

    @property
    def credential_dir(self) -> Path:
        """The vault's folder."""
        return self.data_dir / "credentials"

    @property
    def imports_dir(self) -> Path:
        """Imported suites."""
        return self.data_dir / "suites"

    @property
    def log_dir(self) -> Path:
        """Logs of the executor and of embedded servers."""
        return self.data_dir / "logs"

    def make_log_dir(self) -> Path:
        """``log_dir``; it and the data directory are made where missing, for their owner alone. Raises OSError."""
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.log_dir.mkdir(mode=0o700, exist_ok=True)
        return self.log_dir


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return _PREFIX + name.upper()


def load_settings(environ: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
    """Settings from the environment; keyword overrides that are not None win.

    Raises:
        InputError: a variable holds something that is not of its kind.
    """
    env = os.environ if environ is None else environ
    settings = Settings(default_data_dir(), default_cache_dir())
    changes: dict[str, Any] = {}
    for field in fields(Settings):
        text = env.get(variable(field.name), "").strip()
        if text:
            changes[field.name] = _parse(field.name, text, getattr(settings, field.name))
    changes.update({key: value for key, value in overrides.items() if value is not None})
    return _checked(replace(settings, **changes))


def _parse(name: str, text: str, default: Any) -> Any:
    if name.endswith("_dir"):
        return Path(text).expanduser()
    if isinstance(default, bool):
        return _parse_bool(name, text)
    if isinstance(default, str):
        return text
    try:
        return type(default)(text)
    except ValueError as error:
        kind = "whole number" if isinstance(default, int) else "number"
        raise InputError(f"{variable(name)} is '{one_line(text, 40)}'.", f"Set it to a {kind}.") from error


def _parse_bool(name: str, text: str) -> bool:
    if text.casefold() in _TRUE | _FALSE:
        return text.casefold() in _TRUE
    raise InputError(f"{variable(name)} is '{one_line(text, 40)}'.", "Set it to 1 or 0.")


def _checked(settings: Settings) -> Settings:
    _check_choice("MIN_ISOLATION", settings.min_isolation, ISOLATION_LEVELS)
    _check_choice("CREDENTIAL_STORE", settings.credential_store, CREDENTIAL_STORES)
    for name, (least, most) in _RANGES.items():
        value = getattr(settings, name)
        if not least <= value <= most:  # true for NaN, too
            shown = one_line(str(value), 40)
            raise InputError(f"{variable(name)} is {shown}.", f"Set it from {least} to {most}.")
    _check_ports(settings)
    _check_exporters(settings)
    _ = settings.budgets
    return replace(settings, data_dir=settings.data_dir.absolute(), cache_dir=settings.cache_dir.absolute())


def _budget(part: str) -> tuple[str, int]:
    device, _, number = part.rpartition("=")
    try:
        gib = float(number)
    except ValueError:
        gib = 0.0
    if not device.strip() or not 0 < gib < _MOST_GIB:
        raise InputError(
            f"{_PREFIX}DEVICE_BUDGETS is not right: it holds '{one_line(part, 40)}'.",
            "Set it to DEVICE=GIB with commas between, e.g. nvidia:0=20,cpu=48.",
        )
    return device.strip(), round(gib * 2**30)


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{_PREFIX}{name} is '{one_line(value, 40)}'.", f"Use one of: {', '.join(choices)}.")


def _check_exporters(settings: Settings) -> None:
    try:
        _ = settings.exporters
    except InputError as error:
        raise InputError(
            f"{_PREFIX}GPU_EXPORTERS is not right: {error.what}",
            "Set it to addresses with commas between, like http://gpubox:9400/metrics.",
        ) from error


def _check_ports(settings: Settings) -> None:
    try:
        usable = all(0 < port < 65_536 for port in settings.usual_ports)
    except ValueError:
        usable = False
    if not usable:
        shown = one_line(settings.discover_ports, 40)
        raise InputError(
            f"{_PREFIX}DISCOVER_PORTS is '{shown}'.", "Set it to port numbers with commas between, or to none."
        )
