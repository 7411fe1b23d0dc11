"""Starting and finding the executor: one detached process per data directory does the work."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio

from llmbench_mcp import __version__
from llmbench_mcp.config import Settings
from llmbench_mcp.domain.clock import process_space
from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.domain.versions import is_newer
from llmbench_mcp.services.started_with import differing
from llmbench_mcp.store.leases import LeaseStore, LeaseView

log = logging.getLogger(__name__)

SCOPE = "executor"
_NEXT = "executor:next"
"""Held by the executor of a newer version that waits for an older one to leave: one of them is enough."""
_STARTING_S = 20.0
_POLL_S = 0.25
_FREE_POLL_S = 1.0


class Executors:
    """Use cases about the executor process."""

    def __init__(self, leases: LeaseStore, settings: Settings, spawns: bool = True) -> None:
        self._leases = leases
        self._settings = settings
        self._spawns = spawns
        self._started_at = 0.0
        self._started: list[subprocess.Popen[bytes]] = []

    async def view(self) -> LeaseView | None:
        """Who holds or last held the lease."""
        return await self._leases.view(SCOPE)

    async def alive(self) -> bool:
        """Whether an executor holds the lease now."""
        held = await self.view()
        return held is not None and held.alive

    async def ensure(self) -> bool:
        """Start one, detached from this process, when none is alive, or only one of an older version: that one is
        asked to leave and followed. Returns whether one was started.

        A read-only front end starts none, and none starts where nothing can be written. Several starting at once is
        harmless: all but the one that gets the lease leave.
        """
        if not self._spawns or self._settings.read_only or self._starting() or self._leases.trouble():
            return False
        held = await self.view()
        if held is not None and held.alive and not is_newer(__version__, held.version):
            return False
        if await self._is_awaited():
            return False
        await anyio.to_thread.run_sync(self._spawn)
        return True

    async def trouble(self) -> StorageError | None:
        """What keeps work from going on where nobody can even write that down; None: nothing.

        While an executor renews its lease, writing works for it, whatever this process may do.
        """
        found = self._leases.trouble()
        return None if found is None or await self.alive() else found

    async def why_overdue(self) -> str | None:
        """Why an executor that lives does no work: its lease ran out. None where that is not so."""
        held = await self.view()
        if held is None or not held.overdue:
            return None
        found = self._leases.trouble()
        return str(found) if found else "Its log may tell why; it goes on by itself once it can renew the lease."

    async def _is_awaited(self) -> bool:
        """Whether an executor waits already for an older one to leave."""
        waiting = await self._leases.view(_NEXT)
        return waiting is not None and waiting.alive

    async def remark(self) -> str | None:
        """What whoever starts work should know about the version or the settings of the executor at work."""
        held = await self.view()
        if held is None or not held.alive:
            return None
        if held.version == __version__:
            return await anyio.to_thread.run_sync(self._other_settings, held)
        if is_newer(held.version, __version__):
            return (
                f"The executor at work is version {held.version}, newer than this program ({__version__}): "
                "it does the work; upgrade this program."
            )
        return f"The executor of the older version {held.version} was asked to leave; {__version__} then takes over."

    def _other_settings(self, held: LeaseView) -> str | None:
        if held.host != process_space() or held.pid == os.getpid():
            return None
        names = differing(held.pid, self._settings)
        if not names:
            return None
        return (
            f"The executor at work, process {held.pid}, was started with other settings, and works with them: "
            f"{', '.join(names)}. To use yours: llmbench-mcp executor stop; the next command starts another."
        )

    async def follow_older(self, given_up: anyio.Event | None = None) -> bool:
        """Ask an executor of an older version to leave and wait until it has, answers in flight included.

        Returns False at once when none of an older version works, or another process waits already; and when
        ``given_up`` is set meanwhile.
        """
        held = await self.view()
        if held is None or not held.alive or not is_newer(__version__, held.version):
            return False
        ttl_s = self._settings.lease_s
        place = await self._leases.acquire(_NEXT, ttl_s)
        if place is None:
            return False
        log.info("version %s waits for process %d of version %s to leave", __version__, held.pid, held.version)
        try:
            _ask_to_leave(held)
            while (now := await self.view()) is not None and now.alive and now.owner == held.owner:
                if given_up is not None and given_up.is_set():
                    return False
                await self._leases.renew(place, ttl_s)
                await anyio.sleep(_POLL_S)
        finally:
            with anyio.move_on_after(5, shield=True):
                await self._leases.release(place)
        return True

    async def until_free(self, given_up: anyio.Event) -> None:
        """Wait until no executor is alive, or ``given_up`` is set."""
        if await self.alive():
            log.info("another executor works; this one waits for its end")
        while True:
            with anyio.move_on_after(_FREE_POLL_S):
                await given_up.wait()
            if given_up.is_set() or not await self.alive():
                return

    def _starting(self) -> bool:
        """Whether one that we started a moment ago still runs: it is about to take the lease."""
        # poll() also reaps one that left at once, which would linger as a zombie.
        self._started = [earlier for earlier in self._started if earlier.poll() is None]
        return bool(self._started) and time.monotonic() < self._started_at + _STARTING_S

    def _spawn(self) -> None:
        log = self.log_path
        try:
            self._settings.make_log_dir()
            out = log.open("ab")
        except OSError as error:
            raise StorageError(
                f"The log {log} cannot be written: {error.strerror}.", "Mend its permissions."
            ) from error
        command = [sys.executable, "-m", "llmbench_mcp", "executor", "run"]
        with out:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no outside text
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self._environment(),
                cwd=self._settings.data_dir,
                start_new_session=True,
            )
        self._started.append(process)
        self._started_at = time.monotonic()

    def _environment(self) -> dict[str, str]:
        env = {**os.environ, "LLMBENCH_DATA_DIR": str(self._settings.data_dir)}
        if self._settings.tasks_dir is not None:
            env["LLMBENCH_TASKS_DIR"] = str(self._settings.tasks_dir.absolute())
        return env

    @property
    def log_path(self) -> Path:
        """Where the executor writes what it does."""
        return self._settings.log_dir / "executor.log"

    async def stop(self) -> LeaseView | None:
        """Ask the living executor of this machine to drain and leave; returns who was asked, or None."""
        held = await self.view()
        return held if held is not None and held.alive and _ask_to_leave(held) else None


def _ask_to_leave(held: LeaseView) -> bool:
    if held.host != process_space():
        log.warning("process %d works on %s: stop it there", held.pid, held.host)
        return False
    try:
        os.kill(held.pid, signal.SIGTERM)
    except ProcessLookupError:
        return False
    return True
