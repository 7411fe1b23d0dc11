"""What has changed since a model's last result on a suite, so that asking again can tell something new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from llmbench_mcp.domain.text import one_line

_SHORT = 12


@dataclass(frozen=True, slots=True)
class Standing:
    """What a result was made with, or would be made with now; None is unknown.

    ``tasks``: content hash by task id. ``graders``: by task id, (validator, version); of stored results only the
    version is known. ``attempts``: by task id, how often it was asked, or would be.
    """

    digest: str | None = None
    server_version: str | None = None
    suite_version: int | None = None
    tasks: Mapping[str, str] = field(default_factory=dict)
    graders: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)


def changes(last: Standing | None, now: Standing) -> tuple[str, ...]:
    """Why the last counted result (None: there is none) does not stand for what is there now; empty: it does.

    A digest that appears or disappears counts, for results are kept apart by it; a server that does not tell its
    version has not changed.
    """
    if last is None:
        return ("never run",)
    reasons = []
    if last.digest != now.digest:
        reasons.append(f"digest {_short(last.digest)} -> {_short(now.digest)}")
    if last.server_version and now.server_version and last.server_version != now.server_version:
        reasons.append(f"server {one_line(last.server_version, 40)} -> {one_line(now.server_version, 40)}")
    if last.suite_version != now.suite_version:
        reasons.append(f"suite version {last.suite_version} -> {now.suite_version}")
    return (*reasons, *_of_tasks(last, now), *_of_graders(last, now))


def _short(digest: str | None) -> str:
    return one_line(digest.removeprefix("sha256:")[:_SHORT], _SHORT) if digest else "unknown"


def _of_tasks(last: Standing, now: Standing) -> Iterable[str]:
    new = [task for task in now.tasks if task not in last.tasks]
    other = [task for task in now.tasks if last.tasks.get(task, now.tasks[task]) != now.tasks[task]]
    same = [task for task in now.tasks if last.tasks.get(task) == now.tasks[task]]
    fewer = [task for task in same if last.attempts.get(task, 0) < now.attempts.get(task, 0)]
    for tasks, told in ((new, "not asked yet"), (other, "changed"), (fewer, "asked less often than wanted")):
        if tasks:
            yield f"{len(tasks)} task{'s' if len(tasks) > 1 else ''} {told}: {_listed(tasks)}"


def _listed(tasks: list[str]) -> str:
    return ", ".join(tasks[:3]) + (" ..." if len(tasks) > 3 else "")


def _of_graders(last: Standing, now: Standing) -> list[str]:
    told: dict[str, None] = {}
    for task, (validator, version) in now.graders.items():
        before = last.graders.get(task, ("", ""))[1]
        if before and before != version and last.tasks.get(task) == now.tasks.get(task):
            told[f"validator {validator} {before} -> {version}"] = None
    return list(told)
