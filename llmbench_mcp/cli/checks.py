"""The checks of ``doctor``: each ok, warn or fail, with what to do."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Awaitable, Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from llmbench_mcp.cli import plugin_checks
from llmbench_mcp.cli.check import Check
from llmbench_mcp.cli.credential_checks import credentials
from llmbench_mcp.cli.invocation import Invocation
from llmbench_mcp.config import ISOLATION_LEVELS
from llmbench_mcp.domain.errors import BenchError
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.config import Settings

_TRIED = ((3, 11), (3, 12), (3, 13))
_TROUBLES = (BenchError, OSError, ImportError, ValueError, RuntimeError)


async def examine(call: Invocation) -> list[Check]:
    """All checks; one that cannot be made is itself a failed check."""
    checks = [_python()]
    try:
        settings = call.settings()
    except BenchError as error:
        return [*checks, _failed("settings", error)]
    looks = {
        "log folder": _logs,
        "isolation": _isolation,
        "validators": plugin_checks.validators,
        "backends": plugin_checks.backends,
        "embedded server": _embedded,
    }
    for name, look in looks.items():
        checks.append(await _guarded(name, look, settings))
    return [*checks, *await _inside(settings)]


async def _inside(settings: Settings) -> list[Check]:
    """The checks that need the data directory."""
    looks = {
        "executor": _executor,
        "devices": _devices,
        "endpoints": _endpoints,
        "credentials": credentials,
        "suites": plugin_checks.suites,
    }
    try:
        from llmbench_mcp.app import open_app

        async with open_app(settings) as app:
            checks = [await _guarded("database", _database, settings)]
            for name, look in looks.items():
                checks.append(await _guarded(name, look, app))
    except _TROUBLES as error:
        return [_failed("database", error)]
    return checks


async def _guarded(name: str, look: Callable[[Any], Awaitable[Check]], subject: object) -> Check:
    try:
        return await look(subject)
    except _TROUBLES as error:
        return _failed(name, error)


def _failed(name: str, error: BaseException) -> Check:
    if isinstance(error, BenchError):
        return Check(name, "fail", error.what, error.next_step)
    return Check(name, "fail", f"{type(error).__name__}: {one_line(str(error))}", "Please report this.")


def _python() -> Check:
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] not in _TRIED:
        return Check("python", "warn", found, "This version was not tried; Python 3.11 to 3.13 were.")
    return Check("python", "ok", found)


async def _logs(settings: Settings) -> Check:
    settings.make_log_dir()
    if not os.access(settings.log_dir, os.W_OK):
        return Check("log folder", "fail", f"{settings.log_dir} cannot be written", "Mend its permissions.")
    return Check("log folder", "ok", str(settings.log_dir))


async def _isolation(settings: Settings) -> Check:
    import anyio

    from llmbench_mcp.scoring.grader import isolation_report

    report = await anyio.to_thread.run_sync(isolation_report)
    return isolation_check(report, settings.min_isolation)


def isolation_check(report: Mapping[str, Any], required: str) -> Check:
    """How well code written by models is kept away from this machine."""
    level = report["level"]
    if level == "full":
        return Check("isolation", "ok", "full: model-written code is kept from files, network and processes")
    open_doors = [name for name, held in report["guarantees"].items() if not held]
    found = f"level {level}; {report['reason'] or 'not kept apart: ' + ', '.join(open_doors)}"
    todo = "Coding tasks are refused here. Use a kernel with user namespaces or Landlock and seccomp."
    if level in ISOLATION_LEVELS and ISOLATION_LEVELS.index(level) >= ISOLATION_LEVELS.index(required):
        todo = f"Coding tasks run all the same, because LLMBENCH_MIN_ISOLATION is {required}."
    return Check("isolation", "warn", found, todo)


async def _embedded(settings: Settings) -> Check:
    from llmbench_mcp.cli.demo_server import default_weights

    weights = default_weights(settings)
    if find_spec("xllamacpp") is None:
        todo = "Only the demo needs it: pip install 'llmbench-mcp[embedded]'."
        return Check("embedded server", "warn", "xllamacpp is not installed", todo)
    if weights is None:
        return Check("embedded server", "ok", "installed; the demo will fetch its model weights")
    return Check("embedded server", "ok", f"installed; weights at {weights}")


async def _database(settings: Settings) -> Check:
    import anyio

    from llmbench_mcp.store import soundness
    from llmbench_mcp.store.migrate import latest_version

    found = f"{settings.database_path}, schema {latest_version()}"
    try:
        await anyio.to_thread.run_sync(soundness.check_soundness, settings.database_path)
    except TimeoutError:
        todo = f'To read it whole: sqlite3 {settings.database_path} "pragma quick_check"'
        return Check("database", "ok", f"{found}; no damage found in the first {soundness.LIMIT_S:g} s", todo)
    return Check("database", "ok", found)


async def _executor(app: App) -> Check:
    held = await app.executors.view()
    if held is not None and held.overdue:
        found = f"process {held.pid}, version {held.version}, lives and could not renew its lease"
        return Check("executor", "warn", found, await app.executors.why_overdue() or "")
    if held is None or not held.alive:
        return Check("executor", "ok", "none works now; starting a run starts one")
    remark = await app.executors.remark()
    return Check(
        "executor", "warn" if remark else "ok", f"works: process {held.pid}, version {held.version}", remark or ""
    )


async def _devices(app: App) -> Check:
    from llmbench_mcp.cli.device_tables import told_unknown

    views = await app.devices.read()
    unknown = "; ".join(reason for view in views for reason in told_unknown(view))
    found = ", ".join(f"{view.device.id} ({view.device.name})" for view in views)
    found += f"; unknown: {unknown}" if unknown else ""
    unseen = set(app.settings.budgets) - {view.device.id for view in views}
    if unseen:
        todo = f"LLMBENCH_DEVICE_BUDGETS names what no reader here sees: {one_line(', '.join(sorted(unseen)), 80)}."
        return Check("devices", "warn", found, todo)
    return Check("devices", "ok", found)


async def _endpoints(app: App) -> Check:
    views = await app.endpoints.views(look=True)
    if not views:
        return Check("endpoints", "ok", "none yet", "Add one: llmbench-mcp endpoint add URL")
    from llmbench_mcp.cli.demo_server import NAME
    from llmbench_mcp.domain.ids import served_endpoint_id

    demo = served_endpoint_id(NAME)
    silent = [view for view in views if view.error and view.endpoint.id != demo]
    stopped = [one_line(view.endpoint.name, 64) for view in views if view.error and view.endpoint.id == demo]
    found = f"{len(views) - len(silent) - len(stopped)} of {len(views)} answer"
    found += "".join(f"; stopped ({name})" for name in stopped)
    if not silent:
        return Check("endpoints", "ok", found)
    reasons = "; ".join(f"{view.endpoint.name}: {view.error}" for view in silent)
    return Check("endpoints", "warn", f"{found}; {reasons}", "Start those servers or remove the endpoints.")
