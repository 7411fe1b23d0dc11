"""Starting and finding the executor: one detached process per data directory does the work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.clock import host_name
from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.store.leases import LeaseStore, LeaseView

SCOPE = "executor"
_STARTING_S = 20.0


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
        """Start one, detached from this process, when none is alive. Returns whether one was started.

        A read-only front end starts none. Several starting at once is harmless: all but the one that gets the
        lease leave.
        """
        if not self._spawns or self._settings.read_only or self._starting() or await self.alive():
            return False
        await anyio.to_thread.run_sync(self._spawn)
        return True

    def _starting(self) -> bool:
        """Whether one that we started a moment ago still runs: it is about to take the lease."""
        # poll() also reaps one that left at once, which would linger as a zombie.
        self._started = [earlier for earlier in self._started if earlier.poll() is None]
        return bool(self._started) and time.monotonic() < self._started_at + _STARTING_S

    def _spawn(self) -> None:
        log = self.log_path
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
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
        if held is None or not held.alive or held.host != host_name():
            return None
        try:
            os.kill(held.pid, signal.SIGTERM)
        except ProcessLookupError:
            return None
        return held
