"""A blocking call with a time limit: a keyring may wait for a person who is not there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio

T = TypeVar("T")


async def bounded(call: Callable[[], T], limit_s: float) -> T:
    """What ``call`` returns, made in a daemon thread: one that hangs does not keep the process from ending.

    Raises:
        TimeoutError: it took longer than ``limit_s`` seconds; it is left to itself.
    """
    future = Future[T]()
    future.set_running_or_notify_cancel()
    threading.Thread(target=_run, args=(call, future), name="keyring", daemon=True).start()
    with anyio.fail_after(limit_s):
        return await asyncio.wrap_future(future)


def _run(call: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - the thread's top: handed to whoever waits
        future.set_exception(error)
