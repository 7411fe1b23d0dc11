"""What a process that may only read the database can do; prints JSON: ``python -m`` with a path and a run."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import anyio

from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.store.attempts import AttemptFilter, AttemptStore
from llmbench_mcp.store.database import open_database
from llmbench_mcp.store.runs import RunStore
from llmbench_mcp.testing.clocks import FastClock

NOBODY = 65534


async def look(path: Path, run_id: str) -> dict[str, object]:
    async with open_database(path) as database:
        runs = RunStore(database, FastClock())
        run, (listed, _) = await runs.get(run_id), await runs.page(10, 0)
        _, attempts = await AttemptStore(database).page(run_id, AttemptFilter(), 10, 0)
        seen = {"state": run.state if run else None, "listed": len(listed), "attempts": attempts}
        trouble = database.trouble()
        try:
            await runs.request_cancel(run_id, executor_alive=False)
        except StorageError as error:
            return {**seen, "refused": str(error), "trouble": str(trouble)}
    return {**seen, "refused": None, "trouble": str(trouble)}


def main() -> None:
    path, run_id = Path(sys.argv[1]), sys.argv[2]
    if os.getuid() == 0:  # whom permissions do not stop
        with tempfile.TemporaryDirectory() as folder:  # first as root: another user may not even import everything
            anyio.run(look, Path(folder) / "llmbench.db", run_id)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        found = anyio.run(look, path, run_id)
    except StorageError as error:
        found = {"opened": str(error)}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
