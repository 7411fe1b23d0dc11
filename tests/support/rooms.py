"""A whole application in a temporary folder, on scripted servers; tests run its executor themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.config import Settings
from llmbench_mcp.domain.endpoint import OfferedModel
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.ports import Clock, CredentialChecker, DeviceReader
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.scripted import ScriptedBackends, ScriptedServer


class OneCpu:
    """A DeviceReader of a machine without a GPU."""

    async def read(self) -> Sequence[Device]:
        return [Device("cpu", "Imagined CPU", "cpu", 16 * 10**9, 4 * 10**9)]


def refuse_credentials(ref: str, by_agent: bool) -> None:
    raise InputError(f"No credential is known here: {ref}")


def settings_in(folder: Path, **changes: object) -> Settings:
    # The lease is long, for FastClock's seconds are short and a loaded machine is slow.
    base = Settings(folder / "data", folder / "cache", folder / "tasks", lease_s=1000.0, discover_ports="none")
    return replace(base, **changes)  # type: ignore[arg-type]  # names of fields


def write_suite(folder: Path, tasks: int, name: str = "sums", category: str = "own") -> None:
    """A suite of reasoning tasks: ``Question n`` with the answer n."""
    root = folder / "tasks"
    (root / category).mkdir(parents=True, exist_ok=True)
    ids = []
    for n in range(1, tasks + 1):
        ids.append(f"{category}/q{n:02d}")
        block = f'```yaml\ntype: reasoning\nexpected_answer: "{n}"\nanswer_type: number\n```'
        (root / f"{ids[-1]}.md").write_text(f"PROMPT:\nQuestion {n}\n\nVALIDATION:\n{block}\n", encoding="utf-8")
    listed = "".join(f"    - {task}\n" for task in ids)
    head = f"- name: {name}\n  title: Sums\n  description: Own tasks.\n  version: 1\n  tasks:\n"
    with (root / "suites.yaml").open("a", encoding="utf-8") as file:
        file.write(head + listed)


def server(*names: str, **facts: object) -> ScriptedServer:
    return ScriptedServer([OfferedModel(name, capabilities=("chat",)) for name in names], **facts)  # type: ignore[arg-type]  # fields


@asynccontextmanager
async def opened(
    folder: Path,
    servers: dict[str, ScriptedServer],
    check_credential: CredentialChecker = refuse_credentials,
    **changes: object,
) -> AsyncIterator[App]:
    """The application; its executors are never spawned: tests run ``app.executor`` themselves."""
    backends = ScriptedBackends(servers)
    doors = Doors(FastClock(), backends, OneCpu(), check_credential, spawns_executors=False)
    async with open_app(settings_in(folder, **changes), doors) as app:
        yield app


@asynccontextmanager
async def opened_real(
    folder: Path, devices: DeviceReader | None = None, clock: Clock | None = None, **changes: object
) -> AsyncIterator[App]:
    """The application on the installed backends, for servers that speak HTTP; its waits are short."""
    reader = devices or OneCpu()
    doors = Doors(clock or FastClock(), EntryPointBackends(), reader, refuse_credentials, spawns_executors=False)
    async with open_app(settings_in(folder, **changes), doors) as app:
        yield app


async def assigned(app: App, url: str, name: str = "box") -> None:
    """Add the endpoint, discover, and assign all it offers."""
    await app.endpoints.add(NewEndpoint(url, name))
    await app.models.discover()
    models, _ = await app.models.page(ModelFilter(endpoint=name))
    for model in models:
        await app.models.assign(model.id, name)
