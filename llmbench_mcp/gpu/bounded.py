"""A blocking call that may hang for ever, as a driver's can, without holding up anything else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class BoundedCall(Generic[T]):
    """Runs ``call`` in a daemon thread and waits ``limit_s`` seconds at most.

    Whoever asks while a call is under way gets that call's result. A call that hangs is left to itself, and
    no second one is started while it does: the thread cannot be stopped, but as a daemon it does not keep
    the process from ending.
    """

    def __init__(self, call: Callable[[], T], limit_s: float) -> None:
        self._call = call
        self._limit_s = limit_s
        self._running: Future[T] | None = None
        self._given_up = False

    async def __call__(self) -> T:
        """The call's result. Raises TimeoutError when it, or an earlier one still, hangs."""
        running = self._running
        if running is None or running.done():
            running = self._start()
        elif self._given_up:
            raise TimeoutError
        try:
            with anyio.fail_after(self._limit_s):
                return await asyncio.wrap_future(running)
        except TimeoutError:
            self._given_up = not running.done()
            raise

    def _start(self) -> Future[T]:
        self._given_up = False
        self._running = future = Future[T]()
        future.set_running_or_notify_cancel()
        threading.Thread(target=self._run, args=(future,), name="device-reading", daemon=True).start()
        return future

    def _run(self, future: Future[T]) -> None:
        try:
            future.set_result(self._call())
        except BaseException as error:  # noqa: BLE001  # the thread's top: handed to whoever waits
            future.set_exception(error)
